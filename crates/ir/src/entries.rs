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
use crate::state::{Feed, FeedKind};
use crate::text::print_node;
use indexmap::IndexMap;
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
    #[error("the name `{0}` is that of no entry or of two")]
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
    /// The symbols that are its own, ascending: no run of it needs the others.
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
        shared.symbols_of.push(symbols);
    }
    for (number, (_, graph)) in entries.iter().enumerate() {
        shared.add_leaves(number, graph);
    }
    if shared.errors.is_empty() {
        let graphs = entries.iter().zip(&shared.symbols_of);
        return Ok(graphs.map(|((_, graph), symbols)| shared.entry(graph, symbols)).collect());
    }
    Err(shared.errors)
}

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

/// What all entries have together.
#[derive(Default)]
struct Shared<'e> {
    /// Names of the entries.
    names: Vec<&'e str>,
    symbols: SymbolTable,
    /// For each symbol the first entry that has it.
    symbol_entries: Vec<usize>,
    /// For each entry and each of its symbols, which of all it is.
    symbols_of: Vec<Vec<SymbolId>>,
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
    /// Symbols by name; what a run finds is each entry's own, and gets a name of its own.
    fn add_symbols(&mut self, entry: usize, graph: &Graph) -> Vec<SymbolId> {
        let mut mine = Vec::new();
        for (_, symbol) in graph.symbols().iter() {
            let known = self.symbols.find(&symbol.name).filter(|_| !symbol.found);
            let id = match known {
                Some(id) => {
                    self.compare_symbols(entry, id, symbol);
                    id
                }
                None => {
                    self.symbol_entries.push(entry);
                    let found = symbol.found.then(|| self.symbols.new_found(&symbol.name, symbol.max));
                    self.symbols.push(found.unwrap_or_else(|| symbol.clone()))
                }
            };
            mine.push(id);
        }
        mine
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
        let symbols = self.symbols_of[entry].clone();
        let map = |e: &DimExpr| with_symbols(e, &symbols);
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

    /// The leaves that entries share, in the order of their numbers.
    fn in_order(&self) -> impl Iterator<Item = (&Arc<str>, &Leaf)> {
        let rank = |op: &Op| match op {
            Op::Param(_) => 0,
            Op::State(_) => 1,
            _ => 2,
        };
        let mut order: Vec<_> = self.leaves.iter().filter(|(_, l)| is_shared(&l.op)).collect();
        order.sort_by_key(|(_, leaf)| rank(&leaf.op));
        order.into_iter()
    }

    fn entry(&self, graph: &Graph, symbols: &[SymbolId]) -> EntryGraph {
        let mut own = symbols.to_vec();
        own.sort_unstable();
        EntryGraph { graph: self.rebuild(graph, symbols), symbols: own }
    }

    /// An entry's graph over the leaves of all.
    fn rebuild(&self, graph: &Graph, symbols: &[SymbolId]) -> Graph {
        let own: IndexMap<&str, ValueId> =
            graph.leaves(is_shared).into_iter().map(|v| (&*graph.value(v).name, v)).collect();
        let mut rebuilt = Rebuilt::new(graph, self.symbols.clone());
        let mut scalars = vec![ScalarId(0); graph.scalars().len()];
        let numbers: IndexMap<ValueId, usize> = graph.scalars().into_iter().zip(0..).collect();
        let mut count = 0;
        for (name, leaf) in self.in_order() {
            let mine = own.get(&**name).copied();
            let value = rebuilt.leaf(name, leaf, mine.is_some());
            if let Some(old) = mine {
                rebuilt.values[old.index()] = Some(value);
                numbers.get(&old).into_iter().for_each(|&n| scalars[n] = ScalarId(count));
            }
            count += u32::from(matches!(leaf.op, Op::Scalar(_)));
        }
        let map = |e: &DimExpr| {
            e.substitute(&|var| match var {
                Var::Symbol(SymbolId(i)) => symbols.get(i as usize).map(|&id| DimExpr::symbol(id)),
                Var::Scalar(ScalarId(i)) => scalars.get(i as usize).map(|&id| DimExpr::scalar(id)),
            })
        };
        rebuilt.rest(graph, &map);
        rebuilt.graph
    }
}

fn with_symbols(e: &DimExpr, symbols: &[SymbolId]) -> DimExpr {
    e.substitute(&|var| match var {
        Var::Symbol(SymbolId(i)) => symbols.get(i as usize).map(|&id| DimExpr::symbol(id)),
        Var::Scalar(_) => None,
    })
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
    fn new(old: &Graph, symbols: SymbolTable) -> Rebuilt {
        Rebuilt {
            graph: Graph::empty(old.name().to_owned(), symbols),
            values: vec![None; old.value_count()],
            names: old.values().map(|(_, info)| info.name.clone()).collect(),
            foreign: BTreeSet::new(),
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
        if !is_own {
            self.foreign.insert(name.clone());
        }
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
        let feeds =
            old.feeds().iter().map(|f| Feed { state: of(f.state), kind: fed(&f.kind, map), ..f.clone() });
        self.graph.feeds = feeds.collect();
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

fn fed(kind: &FeedKind, map: &dyn Fn(&DimExpr) -> DimExpr) -> FeedKind {
    match kind {
        FeedKind::Whole => FeedKind::Whole,
        FeedKind::Prefix { axis, len } => FeedKind::Prefix { axis: *axis, len: map(len) },
        FeedKind::Row { axis, src, dst, count } => {
            FeedKind::Row { axis: *axis, src: map(src), dst: map(dst), count: map(count) }
        }
    }
}
