//! Entries of a program: graphs over one set of params, states, scalars and symbols (DESIGN 4).
//!
//! In: named graphs. Out: the same graphs, each with the params, states, scalars and symbols of all of them as its
//! first nodes, in one order, so that number i of any of these lists is one thing in every graph. A leaf that a graph
//! did not have is read by nothing there, and a scalar that it did not have does not advance in it. Inputs, outputs,
//! feeds and stops are each graph's own. Never here: which bytes entries share.

use crate::attr::AttrType;
use crate::entity::ValueId;
use crate::graph::{Constraint, Graph, Node, Output};
use crate::ops::{Constant, Op, Scalar};
use crate::shape::ValueType;
use crate::state::Feed;
use crate::text::print_node;
use indexmap::{IndexMap, IndexSet};
use pumice_types::{DimExpr, ScalarId, Symbol, SymbolId, SymbolTable, Var};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why graphs are no entries of one program.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// No graph.
    #[error("a program needs an entry at least")]
    None,
    /// Two entries of one name, or one without.
    #[error("the entry name `{0}` is empty or used twice")]
    Name(String),
    /// A name is one kind of leaf here and another there.
    #[error("`{name}` is {} in entry `{}` and {} in entry `{}`", .kinds[0], .entries[0], .kinds[1], .entries[1])]
    Kind {
        /// The name.
        name: String,
        /// What it is.
        kinds: [&'static str; 2],
        /// Where.
        entries: [String; 2],
    },
    /// A param, state, scalar or symbol is declared otherwise here than there.
    #[error(
        "{kind} `{name}` is declared otherwise in entry `{}` than in entry `{}`: `{}`, not `{}`",
        .entries[1], .entries[0], .declared[1], .declared[0]
    )]
    Unlike {
        /// What it is.
        kind: &'static str,
        /// The name.
        name: String,
        /// How it is declared.
        declared: [String; 2],
        /// Where.
        entries: [String; 2],
    },
}

pumice_types::debug_as_display!(EntryError);

/// The graph of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryGraph {
    /// The graph, over the leaves of all entries.
    pub graph: Graph,
    /// The symbols that it names, ascending: no run of it needs the others.
    pub symbols: Vec<SymbolId>,
}

/// The graphs over one set of leaves, in the order of the entries. A single graph stays as it is.
///
/// # Errors
/// Every name that is one thing here and another there.
pub fn over_one_interface(entries: &[(&str, &Graph)]) -> Result<Vec<EntryGraph>, Vec<EntryError>> {
    let named: BTreeSet<&str> = entries.iter().map(|(name, _)| *name).collect();
    if entries.is_empty() {
        return Err(vec![EntryError::None]);
    }
    if named.len() < entries.len() || named.contains("") {
        let twice = |name: &&str| name.is_empty() || entries.iter().filter(|e| e.0 == *name).count() > 1;
        let wrong = named.into_iter().filter(twice);
        return Err(wrong.map(|name| EntryError::Name(name.to_owned())).collect());
    }
    if let [(_, graph)] = entries {
        let symbols = graph.symbols().iter().map(|(id, _)| id).collect();
        return Ok(vec![EntryGraph { graph: (*graph).clone(), symbols }]);
    }
    let mut shared = Shared { names: entries.iter().map(|e| e.0).collect(), ..Shared::default() };
    for (number, (_, graph)) in entries.iter().enumerate() {
        let symbols = shared.add_symbols(number, graph);
        let scalars = shared.add_scalars(graph);
        shared.variables.push(Variables { symbols, scalars });
    }
    for (number, (_, graph)) in entries.iter().enumerate() {
        shared.add_found(number, graph);
    }
    for (number, (_, graph)) in entries.iter().enumerate() {
        shared.add_leaves(number, graph);
    }
    if shared.errors.is_empty() {
        let graphs = entries.iter().zip(&shared.variables);
        return Ok(graphs.map(|((_, graph), variables)| shared.entry(graph, variables)).collect());
    }
    Err(shared.errors)
}

/// In the place of a symbol that has no number yet.
const NOT_YET: SymbolId = SymbolId(u32::MAX);

/// What begins a state, in words that are equal where the beginnings are.
#[derive(Clone, PartialEq, Eq)]
enum Init {
    Param(Arc<str>),
    Data(Constant),
}

/// A leaf that entries share.
struct Leaf {
    op: Op,
    ty: ValueType,
    init: Option<Init>,
    /// Its line as text.
    declared: String,
    /// The first entry that has it.
    entry: usize,
}

/// For each symbol and scalar of an entry, which of all it is.
#[derive(Default)]
struct Variables {
    symbols: Vec<SymbolId>,
    scalars: Vec<ScalarId>,
}

impl Variables {
    /// An expression of the entry as one of all.
    fn map(&self, e: &DimExpr) -> DimExpr {
        e.substitute(&|var| match var {
            Var::Symbol(SymbolId(i)) => self.symbols.get(i as usize).map(|&id| DimExpr::symbol(id)),
            Var::Scalar(ScalarId(i)) => self.scalars.get(i as usize).map(|&id| DimExpr::scalar(id)),
        })
    }
}

/// What all entries have together.
#[derive(Default)]
struct Shared<'e> {
    /// Names of the entries.
    names: Vec<&'e str>,
    symbols: SymbolTable,
    /// For each symbol the first entry that has it.
    symbol_entries: Vec<usize>,
    /// Names of the scalars, in the order of their numbers.
    scalars: IndexSet<Arc<str>>,
    /// By entry.
    variables: Vec<Variables>,
    leaves: IndexMap<Arc<str>, Leaf>,
    errors: Vec<EntryError>,
}

/// The kind of a leaf that has a name in the API.
fn kind(op: &Op) -> Option<&'static str> {
    match op {
        Op::Param(_) => Some("a param"),
        Op::State(_) => Some("a state"),
        Op::Scalar(_) => Some("a scalar"),
        Op::Input(_) => Some("an input"),
        _ => None,
    }
}

/// Whether entries share a leaf: all but inputs are.
fn is_shared(op: &Op) -> bool {
    matches!(op, Op::Param(_) | Op::State(_) | Op::Scalar(_))
}

impl Shared<'_> {
    /// Symbols by name. One that a run finds is each entry's own, and gets its number after all others.
    fn add_symbols(&mut self, entry: usize, graph: &Graph) -> Vec<SymbolId> {
        let mut mine = Vec::new();
        for (_, symbol) in graph.symbols().iter() {
            let known = self.symbols.find(&symbol.name).filter(|_| !symbol.found);
            if let Some(id) = known {
                self.compare_symbols(entry, id, symbol);
            }
            mine.push(match known {
                Some(id) => id,
                None if symbol.found => NOT_YET,
                None => self.add_symbol(entry, symbol.clone()),
            });
        }
        mine
    }

    /// The symbols that runs of an entry find, under names that no other symbol has.
    fn add_found(&mut self, entry: usize, graph: &Graph) {
        for (SymbolId(i), symbol) in graph.symbols().iter().filter(|(_, symbol)| symbol.found) {
            let own = self.symbols.new_found(&symbol.name, symbol.max);
            self.variables[entry].symbols[i as usize] = self.add_symbol(entry, own);
        }
    }

    fn add_symbol(&mut self, entry: usize, symbol: Symbol) -> SymbolId {
        self.symbol_entries.push(entry);
        self.symbols.push(symbol)
    }

    /// Scalars by name, numbered before anything names them.
    fn add_scalars(&mut self, graph: &Graph) -> Vec<ScalarId> {
        let names = graph.scalars().into_iter().map(|v| graph.value(v).name.clone());
        names.map(|name| ScalarId(self.scalars.insert_full(name).0 as u32)).collect()
    }

    fn compare_symbols(&mut self, entry: usize, known: SymbolId, symbol: &Symbol) {
        let Some(first) = self.symbols.get(known).filter(|s| *s != symbol) else { return };
        let first_entry = self.symbol_entries[known.0 as usize];
        self.errors.push(EntryError::Unlike {
            kind: "symbol",
            name: symbol.name.clone(),
            declared: [first.to_string(), symbol.to_string()],
            entries: [first_entry, entry].map(|e| self.names[e].to_owned()),
        });
    }

    /// Params, states and scalars by name; inputs are seen so that no name is two things.
    fn add_leaves(&mut self, entry: usize, graph: &Graph) {
        let variables = std::mem::take(&mut self.variables[entry]);
        let map = |e: &DimExpr| variables.map(e);
        for (_, node) in graph.nodes().filter(|(_, node)| kind(&node.op).is_some()) {
            let (mut op, mut ty) = (node.op.clone(), graph.ty(node.output()).clone());
            op.map_dims(&map);
            ty.map_dims(&map);
            let init = node.input(0).map(|v| match graph.constant_data(v) {
                Some(data) => Init::Data(Constant { data: data.clone().into() }),
                None => Init::Param(graph.value(v).name.clone()),
            });
            let leaf = Leaf { op, ty, init, declared: print_node(graph, node), entry };
            let name = graph.value(node.output()).name.clone();
            if let Some(known) = self.leaves.get(&name) {
                self.errors.extend(self.unlike(&name, known, &leaf));
            } else {
                self.leaves.insert(name, leaf);
            }
        }
        self.variables[entry] = variables;
    }

    /// What is wrong with a leaf of this entry, given that of an earlier one.
    fn unlike(&self, name: &str, known: &Leaf, leaf: &Leaf) -> Option<EntryError> {
        let entries = [known.entry, leaf.entry].map(|e| self.names[e].to_owned());
        let kinds = [&known.op, &leaf.op].map(|op| kind(op).unwrap_or("a value"));
        let name = name.to_owned();
        if kinds[0] != kinds[1] {
            return Some(EntryError::Kind { name, kinds, entries });
        }
        let same = known.op == leaf.op && known.ty == leaf.ty && known.init == leaf.init;
        if same || !is_shared(&leaf.op) {
            return None;
        }
        let declared = [known, leaf].map(|l| l.declared.clone());
        let kind = kinds[0].trim_start_matches("a ");
        Some(EntryError::Unlike { kind, name, declared, entries })
    }

    /// The leaves that entries share, in the order of their numbers: params, states, scalars.
    fn in_order(&self) -> impl Iterator<Item = (&Arc<str>, &Leaf)> {
        let of = |pick: fn(&Op) -> bool| self.leaves.iter().filter(move |(_, leaf)| pick(&leaf.op));
        let scalars = self.scalars.iter().filter_map(|name| self.leaves.get_key_value(name));
        of(|op| matches!(op, Op::Param(_))).chain(of(|op| matches!(op, Op::State(_)))).chain(scalars)
    }

    fn entry(&self, graph: &Graph, variables: &Variables) -> EntryGraph {
        let graph = self.rebuild(graph, variables);
        let mut named = graph.named_symbols();
        let conditions = graph.constraints().iter().flat_map(|c| [&c.left, &c.right]);
        conditions.for_each(|e| e.visit_vars(|v| named.extend(v.symbol())));
        EntryGraph { graph, symbols: named.into_iter().collect() }
    }

    /// An entry's graph over the leaves of all.
    fn rebuild(&self, graph: &Graph, variables: &Variables) -> Graph {
        let own: IndexMap<&str, ValueId> =
            graph.leaves(is_shared).into_iter().map(|v| (&*graph.value(v).name, v)).collect();
        let foreign = self.in_order().map(|(name, _)| name).filter(|name| !own.contains_key(&***name));
        let mut rebuilt = Rebuilt::new(graph, self.symbols.clone(), foreign.cloned().collect());
        for (name, leaf) in self.in_order() {
            let mine = own.get(&**name).copied();
            let value = rebuilt.leaf(name, leaf, mine.is_some());
            if let Some(old) = mine {
                rebuilt.values[old.index()] = Some(value);
            }
        }
        rebuilt.rest(graph, &|e| variables.map(e));
        rebuilt.graph
    }
}

/// A graph while it is made again.
struct Rebuilt {
    graph: Graph,
    /// For each value of the old graph, what it is now.
    values: Vec<Option<ValueId>>,
    /// Names of this graph, old and new.
    names: BTreeSet<Arc<str>>,
    /// Leaves that it did not have.
    foreign: BTreeSet<Arc<str>>,
}

impl Rebuilt {
    fn new(old: &Graph, symbols: SymbolTable, foreign: BTreeSet<Arc<str>>) -> Rebuilt {
        Rebuilt {
            graph: Graph::empty(old.name().to_owned(), symbols),
            values: vec![None; old.value_count()],
            names: old.values().map(|(_, info)| info.name.clone()).collect(),
            foreign,
        }
    }

    fn leaf(&mut self, name: &Arc<str>, leaf: &Leaf, is_own: bool) -> ValueId {
        let inputs = leaf.init.as_ref().map(|init| match init {
            Init::Param(param) => self.graph.find(param),
            Init::Data(data) => {
                let name = self.free_name(&format!("{name}_init"));
                let ty = ValueType::fixed(data.data.encoding(), data.data.shape());
                Some(self.graph.push_node(data.clone().into(), SmallVec::new(), [(ty, name)])[0])
            }
        });
        let op = match &leaf.op {
            Op::Scalar(scalar) if !is_own => Scalar { advance: None, ..(**scalar).clone() }.into(),
            op => op.clone(),
        };
        self.graph.push_node(op, inputs.into_iter().collect(), [(leaf.ty.clone(), name.clone())])[0]
    }

    /// A name that no value has.
    fn free_name(&mut self, wanted: &str) -> Arc<str> {
        let numbered = (2..).map(|i: u64| format!("{wanted}_{i}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered).map(Arc::<str>::from);
        let is_free = |name: &Arc<str>| !self.names.contains(name) && !self.foreign.contains(name);
        let name = names.find(is_free).unwrap_or_default();
        self.names.insert(name.clone());
        name
    }

    /// All other nodes, and what follows the last one.
    fn rest(&mut self, old: &Graph, map: &dyn Fn(&DimExpr) -> DimExpr) {
        for (_, node) in old.nodes().filter(|(_, node)| !is_shared(&node.op)) {
            self.node(old, node, map);
        }
        let of = |v: ValueId| self.values[v.index()].unwrap_or(v);
        let outputs = old.outputs().iter().map(|o| Output { name: o.name.clone(), value: of(o.value) });
        self.graph.outputs = outputs.collect();
        for feed in old.feeds() {
            let mut feed = Feed { state: of(feed.state), ..feed.clone() };
            feed.kind.map_exprs(map);
            self.graph.feeds.push(feed);
        }
        self.graph.stop = old.stop();
        let constraints = old.constraints().iter();
        let constraints =
            constraints.map(|c| Constraint { left: map(&c.left), right: map(&c.right), ..c.clone() });
        self.graph.constraints = constraints.collect();
    }

    fn node(&mut self, old: &Graph, node: &Node, map: &dyn Fn(&DimExpr) -> DimExpr) {
        let mut op = node.op.clone();
        op.map_dims(map);
        let inputs = node.inputs.iter().map(|v| v.and_then(|v| self.values[v.index()])).collect();
        let mut results: SmallVec<[(ValueType, Arc<str>); 2]> = smallvec![];
        for &v in &node.outputs {
            let info = old.value(v);
            let mut ty = info.ty.clone();
            ty.map_dims(map);
            let taken = self.foreign.contains(&info.name);
            let name = if taken { self.free_name(&info.name) } else { info.name.clone() };
            results.push((ty, name));
        }
        let made = self.graph.push_node(op, inputs, results);
        node.outputs.iter().zip(made).for_each(|(v, new)| self.values[v.index()] = Some(new));
    }
}
