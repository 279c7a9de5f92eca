//! Elementwise nodes that feed each other over one iteration space become one node of kind `elementwise` (OPS F11).
//!
//! A region is a set of nodes with results of one shape that one kernel computes: at most twelve operands and results
//! together, a bounded number of instructions, nothing computed twice, several results where values in between are
//! needed elsewhere. It is convex: no path leaves it and comes back. A region that reads a state runs before the state
//! is overwritten, or is not formed.
//!
//! Left alone: integer arithmetic of rank 0 (lowering makes frame expressions of it), integer divisions (they report
//! under their names), 64-bit integers where the target lacks them (the host computes those, alone), and edges between what
//! is known when loading and what is not. Runs last: what products and norms
//! took in is not seen here. Values are those of the graph to the bit.

use crate::pipeline::PassCx;
use crate::rewrite::fuse::{escaping, fuse, operands, results};
use crate::rewrite::{Facts, Groups, cost};
use pumice_ir::{Graph, NodeId, Patch};
use pumice_types::slots;

/// Instructions of a body at most: it has no loop, and its values live in registers. A tanh is 68, a pow 184.
const INSTRUCTIONS: usize = 512;

/// One patch for every region of two nodes or more.
pub fn form_elementwise_regions(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let mut cost: Vec<usize> = Vec::new();
    for (id, _) in graph.nodes() {
        let Some(own) = member(graph, id).filter(|_| cx.target.features.int64 || !touches_int64(graph, id))
        else {
            continue;
        };
        let mut mine = groups.claim(vec![id]);
        cost.push(own);
        for v in graph.node(id).operands() {
            let producer = graph.value(v).def.0;
            let Some(theirs) = groups.of(producer).filter(|&g| g != mine) else { continue };
            if same_space(graph, &facts, producer, id)
                && cost[theirs] + cost[mine] <= INSTRUCTIONS
                && unites(graph, &facts, &mut groups, theirs, mine)
            {
                groups.unite(theirs, mine);
                cost[theirs] += std::mem::take(&mut cost[mine]);
                mine = theirs;
            }
        }
    }
    let regions = groups.iter().filter(|nodes| nodes.len() > 1);
    regions.filter_map(|nodes| fuse(graph, "elementwise", nodes, &results(graph, &facts, nodes))).collect()
}

/// Whether a node takes or makes 64-bit integers.
fn touches_int64(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    node.operands().chain(node.outputs.iter().copied()).any(|v| graph.ty(v).dtype().natural_bytes() == 8)
}

/// The instructions of a node that may be in a region.
fn member(graph: &Graph, id: NodeId) -> Option<usize> {
    let node = graph.node(id);
    let ty = graph.ty(*node.outputs.first()?);
    let frame = ty.rank() == 0 && ty.dtype().is_int();
    (!frame).then(|| cost::instructions(graph, id)).flatten()
}

fn same_space(graph: &Graph, facts: &Facts, a: NodeId, b: NodeId) -> bool {
    let shape = |id: NodeId| &graph.ty(graph.node(id).output()).shape;
    shape(a) == shape(b) && facts.is_load_time(a) == facts.is_load_time(b)
}

fn unites(graph: &Graph, facts: &Facts, groups: &mut Groups<'_>, a: usize, b: usize) -> bool {
    let (a, b) = (groups.members(a).to_vec(), groups.members(b).to_vec());
    let mut both = [a.as_slice(), b.as_slice()].concat();
    both.sort_unstable();
    let bound = operands(graph, &both).len() + escaping(graph, facts, &both).len();
    bound <= slots::ELEMENTWISE && groups.may_unite(&a, &b)
}
