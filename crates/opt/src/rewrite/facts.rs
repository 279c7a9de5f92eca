//! What the passes ask about a graph, computed once per pass: users, outputs, what is known when loading, and which
//! values are the bytes of a state.
//!
//! In: a graph. Out: answers in constant time. Never here: a decision about what to rewrite. Ops by name: the leaves,
//! and `Extent`, which is a word of the frame whatever its operand is.

use pumice_ir::{Demand, Graph, Node, NodeId, Op, Succession, ValueId};
use pumice_types::When;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Answers about one graph.
pub struct Facts {
    users: Vec<SmallVec<[NodeId; 2]>>,
    output: Vec<bool>,
    load_time: Vec<bool>,
    in_frame: Vec<bool>,
    shown: Vec<Option<ValueId>>,
    before_write: Vec<SmallVec<[NodeId; 1]>>,
    /// By node, those that name the extent that it finds.
    named_by: BTreeMap<NodeId, Vec<NodeId>>,
    demand: Demand,
}

impl Facts {
    /// Reads the graph once.
    pub fn new(graph: &Graph) -> Facts {
        let mut output = vec![false; graph.value_count()];
        graph.outputs().iter().for_each(|o| output[o.value.index()] = true);
        let users = graph.users();
        let shown = shown_states(graph);
        let before_write = anti_dependencies(graph, &shown);
        let demand = Demand::of(graph);
        let (load_time, in_frame) = (load_time(graph), in_frame(graph));
        let named_by = named_by(graph);
        Facts { users, output, load_time, in_frame, shown, before_write, named_by, demand }
    }

    /// The nodes that use a value, in order, once per operand position.
    pub fn users(&self, v: ValueId) -> &[NodeId] {
        &self.users[v.index()]
    }

    /// Whether a value is a result of the program.
    pub fn is_output(&self, v: ValueId) -> bool {
        self.output[v.index()]
    }

    /// The node that alone uses a value, once, where the value is not a result of the program.
    pub fn only_user(&self, v: ValueId) -> Option<NodeId> {
        match self.users(v) {
            [user] if !self.is_output(v) => Some(*user),
            _ => None,
        }
    }

    /// Whether a node depends on params and constants alone, or on nothing, so that its steps go into the load program.
    pub fn is_load_time(&self, id: NodeId) -> bool {
        self.load_time[id.index()]
    }

    /// Whether a node of rank 0 follows from extents, scalars and constants alone, so that its integers may be
    /// expressions of the frame.
    pub fn is_in_frame(&self, id: NodeId) -> bool {
        self.in_frame[id.index()]
    }

    /// When a node is computed.
    pub fn when(&self, id: NodeId) -> When {
        self.demand.when(id)
    }

    /// Whether two nodes are computed where the same branches are taken.
    pub fn same_branches(&self, a: NodeId, b: NodeId) -> bool {
        self.demand.is_same(a, b)
    }

    /// Whether a value is the bytes of a state version, possibly under a view.
    pub fn shows_state(&self, v: ValueId) -> bool {
        self.shown[v.index()].is_some()
    }

    /// The nodes that must come after a node: users of its values, those that name the extent that it finds, and
    /// writers of the states whose bytes it reads.
    pub fn successors<'a>(&'a self, graph: &'a Graph, id: NodeId) -> impl Iterator<Item = NodeId> + 'a {
        let users = graph.node(id).outputs.iter().flat_map(|v| self.users[v.index()].iter());
        let naming = self.named_by.get(&id).into_iter().flatten();
        users.chain(naming).chain(&self.before_write[id.index()]).copied()
    }
}

/// Elements at most of a table that follows from no param, but from counting (positions, indices, windows), and is made
/// when loading all the same: a larger one costs more as bytes of a weight than when every run makes it again.
pub const TABLE: u64 = 1 << 20;

/// How a value comes about.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// By what a run is given.
    Run,
    Constant,
    /// By counting, and constants.
    Counted,
    Param,
}

fn load_time(graph: &Graph) -> Vec<bool> {
    let mut sources: Vec<Source> = Vec::with_capacity(graph.nodes().len());
    for (_, node) in graph.nodes() {
        sources.push(source(graph, node, &sources));
    }
    sources.into_iter().map(|source| source != Source::Run).collect()
}

fn source(graph: &Graph, node: &Node, of: &[Source]) -> Source {
    match node.op {
        Op::Param(_) => return Source::Param,
        Op::Constant(_) => return Source::Constant,
        Op::Input(_) | Op::State(_) | Op::Scalar(_) | Op::Extent(_) => return Source::Run,
        _ if node.op.carries().is_some() => return Source::Run,
        _ => {}
    }
    // What varies with a symbol is known in the run only.
    let elements = |v: &ValueId| {
        graph.ty(*v).static_shape().map(|shape| shape.iter().fold(1, |n: u64, &d| n.saturating_mul(d)))
    };
    let mut varies = node.outputs.iter().any(|v| elements(v).is_none());
    node.op.visit_dims(&mut |d| varies |= d.as_const().is_none());
    let from = |wanted: Source| node.operands().any(|v| of[graph.value(v).def.0.index()] == wanted);
    if varies || from(Source::Run) {
        return Source::Run;
    }
    if from(Source::Param) {
        return Source::Param;
    }
    let counts = from(Source::Counted) || node.operands().next().is_none();
    match counts {
        true if node.outputs.iter().any(|v| elements(v).is_none_or(|n| n > TABLE)) => Source::Run,
        true => Source::Counted,
        false => Source::Constant,
    }
}

fn in_frame(graph: &Graph) -> Vec<bool> {
    let mut of: Vec<bool> = Vec::with_capacity(graph.nodes().len());
    for (_, node) in graph.nodes() {
        let is_scalar = node.outputs.iter().all(|&v| graph.ty(v).rank() == 0);
        let follows = match &node.op {
            Op::Extent(_) | Op::Scalar(_) | Op::Constant(_) => true,
            Op::Input(_) | Op::Param(_) | Op::State(_) => false,
            op if op.finds().is_some() => true,
            op if op.is_barrier() => false,
            op => op.carries().is_none() && node.operands().all(|v| of[graph.value(v).def.0.index()]),
        };
        of.push(is_scalar && follows);
    }
    of
}

/// For every value, the state version whose bytes it is; views and copies by name included.
fn shown_states(graph: &Graph) -> Vec<Option<ValueId>> {
    let mut shown = vec![None; graph.value_count()];
    for (_, node) in graph.nodes() {
        for (place, &v) in node.outputs.iter().enumerate() {
            let through = node.op.shown_operand(place).and_then(|i| shown[node.input(i)?.index()]);
            shown[v.index()] = graph.is_state_version(v).then_some(v).or(through);
        }
    }
    shown
}

/// By node that finds an extent, those whose attributes name it: operands alone do not say that they follow from it.
fn named_by(graph: &Graph) -> BTreeMap<NodeId, Vec<NodeId>> {
    let (finders, mut named_by) = (graph.finders(), BTreeMap::<NodeId, Vec<NodeId>>::new());
    if finders.is_empty() {
        return named_by;
    }
    for (id, node) in graph.nodes() {
        let mut found = Vec::new();
        node.op.visit_symbols(&mut |symbol| found.extend(finders.get(&symbol).copied().filter(|f| *f != id)));
        found.sort_unstable();
        found.dedup();
        found.into_iter().for_each(|f: NodeId| named_by.entry(f).or_default().push(id));
    }
    named_by
}

/// For every node that reads a state version, the node that overwrites it, or the loop's whose turns do.
fn anti_dependencies(graph: &Graph, shown: &[Option<ValueId>]) -> Vec<SmallVec<[NodeId; 1]>> {
    let mut writer: Vec<Option<NodeId>> = vec![None; graph.value_count()];
    for (id, node) in graph.nodes() {
        for Succession { previous, .. } in graph.successions(node) {
            writer[previous.index()] = Some(id);
        }
    }
    let after = |(id, node): (NodeId, &Node)| {
        let read = node.reads().filter_map(|v| shown[v.index()]);
        let mut writers: SmallVec<[NodeId; 1]> =
            read.filter_map(|version| writer[version.index()]).filter(|&w| w != id).collect();
        writers.dedup();
        writers
    };
    graph.nodes().map(after).collect()
}
