//! An op whose kernel has a hole after its sums (an anchor) and the elementwise nodes after it become one node (OPS F6,
//! F8): bias, activation, residual, scale, cast, a gate's multiplication, in the order in which the graph has them.
//!
//! What an anchor takes in is the compiler's to say ([`Advice::takes`](crate::Advice::takes),
//! [`Advice::accepts`](crate::Advice::accepts)): here groups grow and are kept apart. A value in between that is used
//! elsewhere (or is a result of the program) is a further result. Where two anchors feed one node, the one that is
//! ready later takes it: the other way round the earlier one would wait.
//!
//! Left alone: whatever would make the node wait for itself. Values are those of the graph to the bit: the body rounds
//! where the graph rounds.

use crate::advice::Group;
use crate::pipeline::PassCx;
use crate::rewrite::fuse::{fuse, results};
use crate::rewrite::{Facts, Groups};
use pumice_ir::{Graph, NodeId, Patch};
use std::collections::BTreeSet;

/// One patch for every anchor that takes nodes in.
pub fn fuse_epilogues(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let depth = depths(graph, &facts);
    let mut anchors: Vec<NodeId> =
        graph.nodes().map(|(id, _)| id).filter(|&id| cx.advice.epilogue(graph, id).is_some()).collect();
    anchors.sort_by_key(|id| std::cmp::Reverse((depth[id.index()], *id)));
    for anchor in anchors {
        let nodes = grow(graph, &facts, &mut groups, cx, anchor);
        let accepted =
            |n: &usize| cx.advice.accepts(&Group { graph, facts: &facts, anchor, nodes: &nodes[..*n] });
        if let Some(kept) = (2..=nodes.len()).rev().find(accepted) {
            groups.claim(nodes[..kept].to_vec());
        }
    }
    let mut fused: Vec<&[NodeId]> = groups.iter().collect();
    fused.sort_unstable_by_key(|nodes| nodes[0]);
    let kind = |nodes: &[NodeId]| nodes.iter().find_map(|&id| cx.advice.epilogue(graph, id));
    fused
        .into_iter()
        .filter_map(|nodes| fuse(graph, kind(nodes)?, nodes, &results(graph, &facts, nodes)))
        .collect()
}

/// Steps on the longest way to a node: what is neither a leaf, a view, elementwise nor known when loading is one.
fn depths(graph: &Graph, facts: &Facts) -> Vec<u32> {
    let mut depth = vec![0; graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let before = node.operands().map(|v| depth[graph.value(v).def.0.index()]).max().unwrap_or(0);
        let free =
            node.op.is_leaf() || node.op.is_movement() || node.op.is_elementwise() || facts.is_load_time(id);
        depth[id.index()] = before + u32::from(!free);
    }
    depth
}

/// The anchor and every node after it that could be in its epilogue, in graph order.
fn grow(
    graph: &Graph,
    facts: &Facts,
    groups: &mut Groups<'_>,
    cx: &PassCx<'_>,
    anchor: NodeId,
) -> Vec<NodeId> {
    let mut nodes = vec![anchor];
    let mut next: BTreeSet<NodeId> = facts.users(graph.node(anchor).output()).iter().copied().collect();
    while let Some(id) = next.pop_first() {
        let group = Group { graph, facts, anchor, nodes: &nodes };
        if groups.holds(id) || !cx.advice.takes(&group, id) || !groups.may_unite(&nodes, &[id]) {
            continue;
        }
        nodes.push(id);
        next.extend(facts.users(graph.node(id).output()));
    }
    nodes
}
