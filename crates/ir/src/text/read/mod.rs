//! Text to graph. Every error has a place; nesting is limited; nothing a text contains causes a panic.
//!
//! Here tokens, declarations and nodes; types with their extents in `types`, attributes in `attrs`.

mod attrs;
mod types;

use crate::attr::{AttrReader, AttrValue};
use crate::conditions::Conditions;
use crate::entity::ValueId;
use crate::graph::{Constraint, Graph, Output, Relation};
use crate::infer::infer_node;
use crate::ops::Op;
use crate::place::Place;
use crate::shape::ValueType;
use crate::state::{Feed, FeedKind};
use crate::text::lex::{Position, TextError, Token, lex};
use crate::verify::{program_rules, unheld_count};
use pumice_types::{DimExpr, ScalarId, Symbol, SymbolTable};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Graphs nest no deeper than this (bodies of fused nodes).
const MAX_DEPTH: u32 = 8;

/// Variables and operations in the extents of all values that any text may have, and so many more for each of its
/// bytes. An atom is about 100 bytes of memory.
const ATOMS: (usize, usize) = (1 << 18, 16);

/// The graph a text describes. What it takes is bounded by the size of the text: extents, which grow from node to node,
/// are charged by their atoms.
pub fn read(text: &str) -> Result<Graph, TextError> {
    let tokens = lex(text)?;
    let atoms_left = ATOMS.0 + ATOMS.1 * text.len();
    let mut reader = Reader { tokens: &tokens, next: 0, depth: 0, atoms_left };
    let graph = reader.graph()?;
    match reader.peek() {
        Token::End => Ok(graph),
        _ => reader.error("text after the end of the graph"),
    }
}

struct Reader<'t> {
    tokens: &'t [(Token, Position)],
    next: usize,
    depth: u32,
    /// Atoms that extents of values may still have.
    atoms_left: usize,
}

/// Names of the graph that is being read.
#[derive(Default)]
struct Scope {
    values: BTreeMap<String, ValueId>,
    scalars: BTreeMap<String, ScalarId>,
    outputs: BTreeMap<String, usize>,
    conditions: Conditions,
}

impl Scope {
    /// A node may define these names, each of its type.
    fn may_define(
        &self,
        names: &[String],
        stated: &[Option<ValueType>],
        types: &[ValueType],
        symbols: &SymbolTable,
    ) -> Result<(), String> {
        for (name, (stated, inferred)) in names.iter().zip(stated.iter().zip(types)) {
            if stated.as_ref().is_some_and(|t| t != inferred) {
                return Err(format!("`{name}` is {}", inferred.display(symbols)));
            }
            if self.values.contains_key(name) {
                return Err(format!("`{name}` is defined twice"));
            }
        }
        Ok(())
    }
}

/// A node as a text states it.
struct Stated {
    /// At least one.
    names: Vec<String>,
    types: Vec<Option<ValueType>>,
    op: String,
    inputs: SmallVec<[Option<ValueId>; 4]>,
    attrs: Vec<(String, AttrValue)>,
}

impl Stated {
    /// The types that a typed op states: of its only result, or of all.
    fn stated_types(&self) -> Result<AttrValue, String> {
        if let Some(untyped) = self.types.iter().position(Option::is_none) {
            return Err(format!("{} `{}` needs a type", self.op, self.names[untyped]));
        }
        let mut types: Vec<ValueType> = self.types.iter().flatten().cloned().collect();
        Ok(if types.len() == 1 { AttrValue::Type(types.remove(0)) } else { AttrValue::Types(types) })
    }

    /// Its op, with the attributes and, where the op is typed, the types of its results.
    fn op(&mut self) -> Result<Op, String> {
        let (name, mut attrs) = (&self.op, std::mem::take(&mut self.attrs));
        if Op::is_typed(name) {
            attrs.push(("ty".to_owned(), self.stated_types()?));
        }
        match Op::read(name, AttrReader::new(attrs)) {
            Some(Ok(op)) => Ok(op),
            Some(Err(e)) => Err(format!("{name}: {e}")),
            None => Err(format!("there is no op `{name}`")),
        }
    }
}

type Result<T, E = TextError> = std::result::Result<T, E>;

impl Reader<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |t| &t.0)
    }

    fn at(&self) -> Position {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(Position::default(), |t| t.1)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(TextError { at: self.at(), message: message.into() })
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn is(&self, p: &str) -> bool {
        matches!(self.peek(), Token::Punct(q) if *q == p)
    }

    fn eat(&mut self, p: &str) -> bool {
        let found = self.is(p);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, p: &str) -> Result<()> {
        if self.eat(p) { Ok(()) } else { self.error(format!("expected `{p}`")) }
    }

    fn is_word(&self, w: &str) -> bool {
        matches!(self.peek(), Token::Word(v) if v == w)
    }

    fn keyword(&mut self, w: &str) -> Result<()> {
        if self.is_word(w) {
            self.next += 1;
            return Ok(());
        }
        self.error(format!("expected `{w}`"))
    }

    fn name(&mut self) -> Result<String> {
        match self.peek().clone() {
            Token::Word(s) | Token::Quoted(s) => {
                self.next += 1;
                Ok(s)
            }
            _ => self.error("expected a name"),
        }
    }

    fn int(&mut self) -> Result<i64> {
        let negative = self.eat("-");
        match self.peek().clone() {
            Token::Int(i) => {
                self.next += 1;
                Ok(if negative { i.wrapping_neg() } else { i })
            }
            _ => self.error("expected an integer"),
        }
    }

    fn extent(&mut self) -> Result<u64> {
        let i = self.int()?;
        u64::try_from(i).or_else(|_| self.error("an extent is not negative"))
    }

    fn graph(&mut self) -> Result<Graph> {
        if self.depth >= MAX_DEPTH {
            return self.error("graphs are nested too deep");
        }
        self.depth += 1;
        self.keyword("graph")?;
        let name = self.name()?;
        self.expect("{")?;
        let mut graph = Graph::empty(name, SymbolTable::default());
        let mut scope = Scope::default();
        while !self.eat("}") {
            let followed_by_name =
                matches!(self.tokens.get(self.next + 1), Some((Token::Word(_) | Token::Quoted(_), _)));
            match self.peek() {
                Token::Word(w) if w == "symbol" && followed_by_name => self.symbol(&mut graph)?,
                Token::Word(w) if w == "output" && followed_by_name => self.output(&mut graph, &mut scope)?,
                Token::Word(w) if w == "feed" && followed_by_name => self.feed(&mut graph, &scope)?,
                Token::Word(w) if w == "require" && followed_by_name => {
                    self.require(&mut graph, &mut scope)?
                }
                Token::Word(w) if w == "stop" && followed_by_name => self.stop(&mut graph, &scope)?,
                Token::End => return self.error("the graph does not end"),
                _ => self.node(&mut graph, &mut scope)?,
            }
        }
        self.depth -= 1;
        match program_rules(&graph).into_iter().next().or_else(|| unheld_count(&graph)) {
            // A body may well have outputs that are its inputs; only rules about names, states and feeds matter here.
            Some(e) => self.error(e.to_string()),
            None => Ok(graph),
        }
    }

    fn symbol(&mut self, graph: &mut Graph) -> Result<()> {
        self.keyword("symbol")?;
        let name = self.name()?;
        self.expect("=")?;
        let min = self.extent()?;
        self.expect("..=")?;
        let max = self.extent()?;
        let multiple_of = if self.is_word("step") {
            self.next += 1;
            self.extent()?
        } else {
            1
        };
        let found = self.is_word("found");
        self.next += usize::from(found);
        if min > max || multiple_of == 0 || graph.symbols.find(&name).is_some() {
            return self.error(format!("symbol `{name}` is declared twice, or its range is empty"));
        }
        if found && (min, multiple_of) != (0, 1) {
            return self.error(format!("symbol `{name}` is found, so its range begins at 0 and has no step"));
        }
        graph.symbols.push(Symbol { name, min, max, multiple_of, found });
        Ok(())
    }

    fn output(&mut self, graph: &mut Graph, scope: &mut Scope) -> Result<()> {
        self.keyword("output")?;
        let name = self.name()?;
        self.expect("=")?;
        let value = self.value(scope)?;
        if scope.outputs.insert(name.clone(), graph.outputs.len()).is_some() {
            return self.error(format!("output `{name}` is declared twice"));
        }
        graph.outputs.push(Output { name, value });
        Ok(())
    }

    /// The index of an output that is declared above.
    fn declared_output(&mut self, scope: &Scope) -> Result<usize> {
        let name = self.name()?;
        let found = scope.outputs.get(&name).copied();
        found.map_or_else(|| self.error(format!("there is no output `{name}`")), Ok)
    }

    fn stop(&mut self, graph: &mut Graph, scope: &Scope) -> Result<()> {
        self.keyword("stop")?;
        let output = self.declared_output(scope)?;
        if graph.stop.replace(output).is_some() {
            return self.error("a second output stops");
        }
        Ok(())
    }

    fn feed(&mut self, graph: &mut Graph, scope: &Scope) -> Result<()> {
        let place = Place::Text(self.at());
        self.keyword("feed")?;
        let output = self.declared_output(scope)?;
        self.expect("->")?;
        let state = self.value(scope)?;
        let kind = self.name()?;
        let mut fields = self.fields_in_braces(graph, scope)?;
        let mut field = |key: &str| match fields.remove(key) {
            Some(e) => Ok(e),
            None => Err(TextError { at: self.at(), message: format!("the feed needs `{key}`") }),
        };
        let axis = |e: DimExpr| e.as_extent().and_then(|a| usize::try_from(a).ok()).unwrap_or(usize::MAX);
        let kind = match kind.as_str() {
            "whole" => FeedKind::Whole,
            "prefix" => FeedKind::Prefix { axis: axis(field("axis")?), len: field("len")? },
            "row" => FeedKind::Row {
                axis: axis(field("axis")?),
                src: field("src")?,
                dst: field("dst")?,
                count: field("count")?,
            },
            other => return self.error(format!("`{other}` is not whole, prefix or row")),
        };
        if let Some(key) = fields.keys().next() {
            return self.error(format!("the feed has no `{key}`"));
        }
        graph.feeds.push(Feed { output, state, kind, place });
        Ok(())
    }

    /// A condition that no node finds: `require "a and b" equal {left = n, right = m}`.
    fn require(&mut self, graph: &mut Graph, scope: &mut Scope) -> Result<()> {
        let place = Place::Text(self.at());
        self.keyword("require")?;
        let what = self.name()?.into();
        let relation = self.relation()?;
        let mut sides = self.fields_in_braces(graph, scope)?;
        let (left, right) = (sides.remove("left"), sides.remove("right"));
        let is_extent = |e: &DimExpr| !e.is_too_large() && e.find_var(|v| v.symbol().is_none()).is_none();
        match (left, right, sides.is_empty()) {
            (Some(left), Some(right), true) if is_extent(&left) && is_extent(&right) => {
                let required = Constraint { left, relation, right, what, place, of_method: true };
                scope.conditions.append(&mut graph.constraints, [required]);
                Ok(())
            }
            _ => {
                self.error("a condition has `left` and `right`, extents of symbols and of limited length, and nothing else")
            }
        }
    }

    fn relation(&mut self) -> Result<Relation> {
        let word = self.name()?;
        let found = Relation::ALL.into_iter().find(|relation| relation.name() == word);
        found.map_or_else(|| self.error(format!("`{word}` is not equal, broadcast or at_most")), Ok)
    }

    /// What stands in braces after a feed or a condition, by name; nothing where there are no braces.
    fn fields_in_braces(&mut self, graph: &Graph, scope: &Scope) -> Result<BTreeMap<String, DimExpr>> {
        let mut fields = BTreeMap::new();
        if self.eat("{") {
            while !self.eat("}") {
                let key = self.name()?;
                self.expect("=")?;
                if fields.contains_key(&key) {
                    return self.error(format!("`{key}` stands there already"));
                }
                fields.insert(key, self.dim(graph, scope)?);
                self.eat(",");
            }
        }
        Ok(fields)
    }

    fn value(&mut self, scope: &Scope) -> Result<ValueId> {
        let at = self.at();
        let name = self.name()?;
        let unknown = || TextError {
            at,
            message: format!("`{name}` is not defined above; nodes are in order, cycles cannot be"),
        };
        scope.values.get(&name).copied().ok_or_else(unknown)
    }

    fn node(&mut self, graph: &mut Graph, scope: &mut Scope) -> Result<()> {
        let at = self.at();
        let stated = self.stated(graph, scope)?;
        self.add(stated, at, graph, scope).map_err(|message| TextError { at, message })
    }

    /// A node as the text states it.
    fn stated(&mut self, graph: &Graph, scope: &Scope) -> Result<Stated> {
        let (names, types) = self.results(graph, scope)?;
        self.expect("=")?;
        let op = self.name()?;
        let inputs = self.operands(scope)?;
        Ok(Stated { names, types, op, inputs, attrs: self.attrs(graph, scope)? })
    }

    /// Adds a node that stands there to the graph, its names to the scope.
    fn add(
        &mut self,
        mut stated: Stated,
        at: Position,
        graph: &mut Graph,
        scope: &mut Scope,
    ) -> Result<(), String> {
        let op = stated.op()?;
        let Stated { names, types: stated, op: op_name, inputs, .. } = stated;
        let inferred = infer_node(graph, &op, &names[0], &inputs);
        let (types, constraints) = inferred.map_err(|e| format!("{} ({op_name}): {e}", names[0]))?;
        if types.len() != names.len() {
            return Err(format!("{op_name} has {} results, {} are named", types.len(), names.len()));
        }
        scope.may_define(&names, &stated, &types, &graph.symbols)?;
        self.pay_for_extents(&types)?;
        let placed = constraints.into_iter().map(|c| Constraint { place: Place::Text(at), ..c });
        scope.conditions.append(&mut graph.constraints, placed);
        if matches!(op, Op::Scalar(_)) {
            scope.scalars.insert(names[0].clone(), ScalarId(scope.scalars.len() as u32));
        }
        let results = types.into_iter().zip(names.iter().map(|name| name.as_str().into()));
        let values = graph.push_node(op, inputs, results);
        scope.values.extend(names.into_iter().zip(values));
        Ok(())
    }

    /// Counts the variables and operations of extents against what a text of this size may have.
    fn pay_for_extents(&mut self, types: &[ValueType]) -> Result<(), String> {
        let atoms = types.iter().flat_map(|t| t.shape.iter()).map(DimExpr::atoms).sum();
        let Some(left) = self.atoms_left.checked_sub(atoms) else {
            return Err("the extents of the values have more variables and operations than a graph of this \
                        size is read with; name them by symbols"
                .to_owned());
        };
        self.atoms_left = left;
        Ok(())
    }

    /// The names that a node defines, at least one, each with the type that is stated.
    fn results(&mut self, graph: &Graph, scope: &Scope) -> Result<(Vec<String>, Vec<Option<ValueType>>)> {
        let (mut names, mut types) = (Vec::new(), Vec::new());
        loop {
            names.push(self.name()?);
            types.push(if self.eat(":") { Some(self.ty(graph, scope)?) } else { None });
            if !self.eat(",") {
                return Ok((names, types));
            }
        }
    }

    fn operands(&mut self, scope: &Scope) -> Result<SmallVec<[Option<ValueId>; 4]>> {
        let mut inputs = SmallVec::new();
        self.expect("(")?;
        while !self.eat(")") {
            inputs.push(if self.eat("_") { None } else { Some(self.value(scope)?) });
            self.eat(",");
        }
        Ok(inputs)
    }
}
