//! The finished graph.

use crate::builder::CallSite;
use crate::entity::{NodeId, ValueId};
use crate::ops::Op;
use crate::place::Place;
use crate::shape::{ValueType, display_dim};
use crate::sites::Sites;
use crate::state::Feed;
use pumice_types::{DimExpr, SymbolId, SymbolTable, Tensor};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One application of an op.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// Which op, with its attributes.
    pub op: Op,
    /// Operands by position; `None` where an optional one is absent. Trailing absent ones are not stored.
    pub inputs: SmallVec<[Option<ValueId>; 4]>,
    /// The values it defines, at least one.
    pub outputs: SmallVec<[ValueId; 2]>,
}

impl Node {
    /// The operand at a position, if there.
    pub fn input(&self, i: usize) -> Option<ValueId> {
        self.inputs.get(i).copied().flatten()
    }

    /// All operands that are there.
    pub fn operands(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs.iter().flatten().copied()
    }

    /// The operands whose values it reads. The end of a loop names what turns begin with, and reads what they leave.
    pub fn reads(&self) -> impl Iterator<Item = ValueId> + '_ {
        let named = if self.op.loops().is_some() { self.outputs.len() } else { 0 };
        self.operands().take(self.inputs.len() - named.min(self.inputs.len()))
    }

    /// The first value it defines.
    pub fn output(&self) -> ValueId {
        self.outputs[0]
    }
}

/// A value: its name, its type and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueInfo {
    /// Unique in the graph, and shared with its copies. The name of a node is the name of its first value.
    pub name: Arc<str>,
    /// Its type.
    pub ty: ValueType,
    /// The node that defines it, and which of the node's values it is.
    pub def: (NodeId, u16),
}

/// A named result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// Name in the API.
    pub name: String,
    /// What it is.
    pub value: ValueId,
}

/// How two extents must stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// They are equal, where NumPy would also let one that is 1 stretch. The builder refuses what may be 1 in some runs
    /// and not in others: which one stretches is part of the plan.
    Broadcast,
    /// The first is not larger.
    AtMost,
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 3] = [Relation::Equal, Relation::Broadcast, Relation::AtMost];

    /// Its word in `.ir` text.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "equal",
            Relation::Broadcast => "broadcast",
            Relation::AtMost => "at_most",
        }
    }
}

/// Two extents that must stand to each other in this way in every run: found by inference, checked when symbols are
/// bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constraint {
    /// One extent.
    pub left: DimExpr,
    /// How they must stand.
    pub relation: Relation,
    /// The other extent.
    pub right: DimExpr,
    /// What it is about: `h (matmul): K of a and b`. Clones share it.
    pub what: Arc<str>,
    /// Where the node that needs it was made.
    pub place: Place,
    /// Whether a method of the builder needs it, whose nodes do not: `.ir` text states it, since nobody finds it again.
    pub of_method: bool,
}

impl Constraint {
    /// What it is about, and where that was made.
    pub fn what_and_where(&self) -> String {
        format!("{}{}", self.what, self.place)
    }

    /// What must be in [`Constraint::allowed`]: the right extent less the left one.
    pub fn difference(&self) -> DimExpr {
        &self.right - &self.left
    }

    /// The values that the difference may have.
    pub fn allowed(&self) -> (i64, i64) {
        (0, if self.relation == Relation::AtMost { i64::MAX } else { 0 })
    }

    /// Whether it is about an extent that only the run finds.
    pub fn names_found(&self, symbols: &SymbolTable) -> bool {
        symbols.names_found(&self.left) || symbols.names_found(&self.right)
    }

    /// How the extents must stand to each other, as text.
    pub(crate) fn shown(&self, symbols: &SymbolTable) -> String {
        let [left, right] = [&self.left, &self.right].map(|d| display_dim(d, symbols));
        let must = if self.relation == Relation::AtMost { "be at most" } else { "be" };
        format!("{left} must {must} {right}")
    }

    /// Whether it holds nowhere in the ranges of these symbols.
    pub fn excludes(&self, symbols: &SymbolTable) -> bool {
        let (low, high) = self.difference().bounds(symbols);
        self.excludes_all(low, high)
    }

    /// Whether it allows no difference from `low` to `high`.
    pub(crate) fn excludes_all(&self, low: i64, high: i64) -> bool {
        let (least, most) = self.allowed();
        low > most || high < least
    }

    /// Whether `other` holds wherever this one does.
    pub fn implies(&self, other: &Constraint) -> bool {
        let (own, its) = (self.difference(), other.difference());
        let equal = self.relation != Relation::AtMost;
        (own == its && (equal || other.relation == Relation::AtMost)) || (equal && (own + its).is(0))
    }
}

/// A finished program. Immutable; passes make new graphs through [`Patch`](crate::Patch)es.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) symbols: SymbolTable,
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<ValueInfo>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) feeds: Vec<Feed>,
    pub(crate) stop: Option<usize>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) sites: Sites,
}

impl Graph {
    /// A graph without nodes.
    pub(crate) fn empty(name: String, symbols: SymbolTable) -> Graph {
        let (nodes, values, outputs) = (Vec::new(), Vec::new(), Vec::new());
        let (feeds, constraints) = (Vec::new(), Vec::new());
        let (stop, sites) = (None, Sites::default());
        Graph { name, symbols, nodes, values, outputs, feeds, stop, constraints, sites }
    }

    /// Where the caller's source made the node of this name, or one that it is a part of (`norm` of `norm.mean`); none
    /// where a pass did, or text. Graphs that are made of this one know it as well.
    pub fn site(&self, node: &str) -> Option<CallSite> {
        let mut wholes = std::iter::successors(Some(node), |name| Some(name.rsplit_once('.')?.0));
        wholes.find_map(|name| self.sites.find(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its symbols.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// All nodes with their ids; operands come before users.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(i, n)| (NodeId(i as u32), n))
    }

    /// A node of this graph.
    ///
    /// # Panics
    /// If the id is of another graph; ids are made by graphs only.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// A value of this graph.
    ///
    /// # Panics
    /// If the id is of another graph; ids are made by graphs only.
    pub fn value(&self, id: ValueId) -> &ValueInfo {
        &self.values[id.index()]
    }

    /// The type of a value of this graph.
    pub fn ty(&self, id: ValueId) -> &ValueType {
        &self.value(id).ty
    }

    /// The node that defines a value.
    pub fn def(&self, id: ValueId) -> &Node {
        self.node(self.value(id).def.0)
    }

    /// Number of values; ids run from 0.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// All values with their ids.
    pub fn values(&self) -> impl Iterator<Item = (ValueId, &ValueInfo)> {
        self.values.iter().enumerate().map(|(i, v)| (ValueId::new(i), v))
    }

    /// The name of a node: that of its first value.
    pub fn node_name(&self, id: NodeId) -> &str {
        &self.value(self.node(id).output()).name
    }

    /// Results in declaration order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Feeds in declaration order.
    pub fn feeds(&self) -> &[Feed] {
        &self.feeds
    }

    /// The output that ends the work of a submission where it is true, as an index into [`Graph::outputs`]; see
    /// [`GraphBuilder::stop`](crate::GraphBuilder::stop).
    pub fn stop(&self) -> Option<usize> {
        self.stop
    }

    /// Equalities that bindings must satisfy.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The value of that name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.values.iter().position(|v| *v.name == *name).map(ValueId::new)
    }

    /// Values of the leaf nodes that `pick` accepts, in node order: that is declaration order.
    pub fn leaves(&self, pick: impl Fn(&Op) -> bool) -> Vec<ValueId> {
        self.nodes.iter().filter(|n| pick(&n.op)).map(Node::output).collect()
    }

    /// Inputs in declaration order.
    pub fn inputs(&self) -> Vec<ValueId> {
        self.leaves(|op| matches!(op, Op::Input(_)))
    }

    /// Params in declaration order.
    pub fn params(&self) -> Vec<ValueId> {
        self.leaves(|op| matches!(op, Op::Param(_)))
    }

    /// States (version 0) in declaration order.
    pub fn states(&self) -> Vec<ValueId> {
        self.leaves(|op| matches!(op, Op::State(_)))
    }

    /// Dynamic scalars in declaration order: the `i`-th has `ScalarId(i)`.
    pub fn scalars(&self) -> Vec<ValueId> {
        self.leaves(|op| matches!(op, Op::Scalar(_)))
    }

    /// For every value, the nodes that use it, in order, once per operand position.
    pub fn users(&self) -> Vec<SmallVec<[NodeId; 2]>> {
        let mut users = vec![SmallVec::new(); self.values.len()];
        for (id, node) in self.nodes() {
            node.operands().for_each(|v| users[v.index()].push(id));
        }
        users
    }

    /// By symbol that the run finds, the node that finds it.
    pub fn finders(&self) -> BTreeMap<SymbolId, NodeId> {
        self.nodes().filter_map(|(id, node)| Some((node.op.finds()?, id))).collect()
    }

    /// The symbols that a node's attributes and the extents of its results name, but for the one that it finds itself.
    pub fn symbols_named(&self, node: &Node) -> Vec<SymbolId> {
        let mut named = Vec::new();
        let mut look = |e: &DimExpr| e.visit_vars(|v| named.extend(v.symbol()));
        if node.op.finds().is_none() {
            node.op.visit_dims(&mut look);
        }
        node.outputs.iter().flat_map(|&v| self.ty(v).shape.iter()).for_each(look);
        named
    }

    /// Whether a node reads a value, or it is an output.
    pub fn is_read(&self, value: ValueId) -> bool {
        self.is_output(value) || self.nodes().any(|(_, node)| node.operands().any(|v| v == value))
    }

    /// Whether a value is an output.
    pub fn is_output(&self, value: ValueId) -> bool {
        self.outputs.iter().any(|o| o.value == value)
    }

    /// The data of a value that is a constant.
    pub fn constant_data(&self, v: ValueId) -> Option<&Tensor> {
        match &self.def(v).op {
            Op::Constant(c) => Some(&c.data),
            _ => None,
        }
    }

    /// Adds a node with the types and names of its values.
    pub(crate) fn push_node(
        &mut self,
        op: Op,
        inputs: SmallVec<[Option<ValueId>; 4]>,
        results: impl IntoIterator<Item = (ValueType, Arc<str>)>,
    ) -> SmallVec<[ValueId; 2]> {
        let id = NodeId(self.nodes.len() as u32);
        let mut outputs = SmallVec::new();
        for (i, (ty, name)) in results.into_iter().enumerate() {
            outputs.push(ValueId::new(self.values.len()));
            self.values.push(ValueInfo { name, ty, def: (id, i as u16) });
        }
        self.nodes.push(Node { op, inputs, outputs: outputs.clone() });
        outputs
    }

    /// Gives back the capacity that growing left.
    pub(crate) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.values.shrink_to_fit();
        self.outputs.shrink_to_fit();
        self.constraints.shrink_to_fit();
    }

    /// The symbols that types, attributes and feeds name.
    pub(crate) fn named_symbols(&self) -> BTreeSet<SymbolId> {
        let mut named = BTreeSet::new();
        let mut look = |e: &DimExpr| e.visit_vars(|v| named.extend(v.symbol()));
        self.values.iter().flat_map(|v| v.ty.shape.iter()).for_each(&mut look);
        self.nodes.iter().for_each(|node| node.op.visit_dims(&mut look));
        self.feeds.iter().for_each(|feed| feed.kind.visit_exprs(&mut look));
        named
    }

    /// The same graph with other symbol ranges, as a specialization has.
    pub fn with_symbols(self, symbols: SymbolTable) -> Graph {
        Graph { symbols, ..self }
    }
}
