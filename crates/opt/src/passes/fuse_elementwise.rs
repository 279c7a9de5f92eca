//! Elementwise nodes that feed each other over one iteration space become one node of kind `elementwise` (OPS F11).
//!
//! A group is a set of nodes with results of one shape that one kernel computes: at most twelve operands and results
//! together, a bounded number of instructions, nothing computed twice, several results where values in between are
//! needed elsewhere. It is convex: no path leaves it and comes back. A group that reads a state runs before the state
//! is overwritten, or is not formed.
//!
//! Left alone: integers of rank 0 that follow from extents and scalars (lowering makes frame expressions of them),
//! integer divisions (they report under their names), 64-bit integers where the target lacks them (the host computes
//! those, alone), and edges between what is known when loading and what is not. Runs last: what products and norms took
//! in is not seen here. Values are those of the graph to the bit.

use crate::pipeline::PassCx;
use crate::rewrite::fuse::{escaping, fuse, operands, results};
use crate::rewrite::{Facts, Groups, cost};
use pumice_ir::{Graph, NodeId, Patch, ValueId};
use pumice_types::slots;

/// Instructions of a body at most: it has no loop, and its values live in registers. A tanh is 68, a pow 184.
pub const INSTRUCTIONS: usize = 512;

/// One patch for every group of two nodes or more.
pub fn fuse_elementwise(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let mut footprints: Vec<Footprint> = Vec::new();
    for (id, _) in graph.nodes() {
        let Some(own) =
            member(graph, &facts, id).filter(|_| cx.target.features.int64 || !touches_int64(graph, id))
        else {
            continue;
        };
        let mut mine = groups.claim(vec![id]);
        footprints.push(Footprint::of(graph, &facts, id, own));
        for v in graph.node(id).operands() {
            let producer = graph.value(v).def.0;
            let Some(theirs) = groups.of(producer).filter(|&g| g != mine) else { continue };
            if !same_space(graph, &facts, producer, id) {
                continue;
            }
            let holds = |n: NodeId| groups.of(n).is_some_and(|g| g == theirs || g == mine);
            let both = footprints[theirs].and(&footprints[mine], graph, &facts, holds);
            if both.fits() && groups.may_unite_groups(theirs, mine) {
                groups.unite(theirs, mine);
                footprints[theirs] = both;
                mine = theirs;
            }
        }
    }
    let several = groups.iter().filter(|nodes| nodes.len() > 1);
    several
        .filter_map(|nodes| fuse(graph, cost::ELEMENTWISE, nodes, &results(graph, &facts, nodes)))
        .collect()
}

/// The same once more where `recompute` had little room: a value that is repeated inside the step that reads it takes
/// none (DESIGN 11.3).
pub fn fuse_repeated(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    if cx.room.is_some() { fuse_elementwise(graph, cx) } else { Vec::new() }
}

/// Whether a node takes or makes 64-bit integers.
fn touches_int64(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    node.operands().chain(node.outputs.iter().copied()).any(|v| graph.ty(v).dtype().natural_bytes() == 8)
}

/// The instructions of a node that may be in a group.
fn member(graph: &Graph, facts: &Facts, id: NodeId) -> Option<usize> {
    let node = graph.node(id);
    let ty = graph.ty(*node.outputs.first()?);
    let frame = facts.is_in_frame(id) && ty.dtype().is_int();
    (!frame).then(|| cost::instructions(graph, id)).flatten()
}

fn same_space(graph: &Graph, facts: &Facts, a: NodeId, b: NodeId) -> bool {
    let shape = |id: NodeId| &graph.ty(graph.node(id).output()).shape;
    shape(a) == shape(b) && facts.is_load_time(a) == facts.is_load_time(b)
}

/// What a group computes and binds, kept while it grows.
struct Footprint {
    instructions: usize,
    operands: Vec<ValueId>,
    results: Vec<ValueId>,
}

impl Footprint {
    /// One node.
    fn of(graph: &Graph, facts: &Facts, id: NodeId, instructions: usize) -> Footprint {
        Footprint { instructions, operands: operands(graph, &[id]), results: escaping(graph, facts, &[id]) }
    }

    /// Two groups as one, which has the nodes that `holds` says: what they take from outside of both, and what is
    /// needed there.
    fn and(
        &self,
        other: &Footprint,
        graph: &Graph,
        facts: &Facts,
        holds: impl Fn(NodeId) -> bool,
    ) -> Footprint {
        let is_outside = |v: &ValueId| !holds(graph.value(*v).def.0);
        let mut operands: Vec<ValueId> =
            self.operands.iter().chain(&other.operands).copied().filter(is_outside).collect();
        operands.sort_unstable();
        operands.dedup();
        let leaves = |v: &ValueId| facts.is_output(*v) || facts.users(*v).iter().any(|&user| !holds(user));
        let results = self.results.iter().chain(&other.results).copied().filter(leaves).collect();
        Footprint { instructions: self.instructions + other.instructions, operands, results }
    }

    /// Whether one kernel can compute it.
    fn fits(&self) -> bool {
        let bound = self.operands.len() + self.results.len();
        self.instructions <= INSTRUCTIONS && bound <= slots::ELEMENTWISE
    }
}
