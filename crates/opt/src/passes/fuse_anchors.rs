//! An op whose kernel has a hole (an anchor) and the elementwise nodes that the hole takes in become one node (OPS F1,
//! F6, F8). Before an anchor's sums these are what makes its first operand: the residual sum that a norm reads, with
//! its scales and casts. After them: bias, activation, residual, scale, cast, a gate's multiplication. All in the order
//! in which the graph has them.
//!
//! What an anchor takes in is the compiler's to say ([`CostModel::anchor`](crate::CostModel::anchor),
//! [`CostModel::takes`](crate::CostModel::takes), [`CostModel::accepts`](crate::CostModel::accepts)): here groups grow
//! and are kept apart. A value in between that is used elsewhere (or is a result of the program) is a further result.
//! Where two anchors are followed by one node, the one that is ready later takes it: the other way round the earlier
//! one would wait. What lies between two anchors is taken by the later one, whose hole is before: it waits for memory
//! anyway (MiniLM, 32 x 128 tokens, H200, 2026-11-22, sums between products and norms: 3390 us, in the products'
//! epilogues 3488).
//!
//! Left alone: whatever would make the node wait for itself. Values are those of the graph to the bit: the body rounds
//! where the graph rounds.

use crate::cost_model::{Group, Side};
use crate::pipeline::PassCx;
use crate::rewrite::fuse::{fuse, results};
use crate::rewrite::{Facts, Groups};
use pumice_ir::{Graph, NodeId, Patch, ValueId};
use std::collections::BTreeSet;

/// One patch for every anchor that takes in what makes its first operand.
pub fn fuse_prologues(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    fuse_anchors(graph, cx, Side::Before)
}

/// One patch for every anchor that takes in what follows it.
pub fn fuse_epilogues(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    fuse_anchors(graph, cx, Side::After)
}

fn fuse_anchors(graph: &Graph, cx: &PassCx<'_>, side: Side) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let anchor_of = |id: NodeId| cx.cost_model.anchor(graph, id).filter(|a| a.side == side);
    let mut anchors: Vec<NodeId> =
        graph.nodes().map(|(id, _)| id).filter(|&id| anchor_of(id).is_some()).collect();
    if side == Side::After {
        let depth = depths(graph, &facts);
        anchors.sort_by_key(|id| std::cmp::Reverse((depth[id.index()], *id)));
    }
    for anchor in anchors {
        let grown = Growth { graph, facts: &facts, cx, anchor, side }.grow(&mut groups);
        let accepted =
            |nodes: &Vec<NodeId>| cx.cost_model.accepts(&Group { graph, facts: &facts, anchor, nodes });
        if let Some(nodes) = grown.into_iter().rev().find(accepted) {
            groups.claim(nodes);
        }
    }
    let mut fused: Vec<&[NodeId]> = groups.iter().collect();
    fused.sort_unstable_by_key(|nodes| nodes[0]);
    let kind = |nodes: &[NodeId]| nodes.iter().find_map(|&id| anchor_of(id)).map(|a| a.kind);
    let fuse = |nodes: &[NodeId]| fuse(graph, kind(nodes)?, nodes, &results(graph, &facts, nodes));
    fused.into_iter().filter_map(fuse).collect()
}

/// Steps on the longest way to a node: what is neither a leaf, a view, elementwise nor known when loading is one.
fn depths(graph: &Graph, facts: &Facts) -> Vec<u32> {
    let mut depth = vec![0; graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let before = node.operands().map(|v| depth[graph.value(v).def.0.index()]).max().unwrap_or(0);
        let is_view = node.op.shown_operand(0).is_some();
        let free = node.op.is_leaf() || is_view || node.op.is_elementwise() || facts.is_load_time(id);
        depth[id.index()] = before + u32::from(!free);
    }
    depth
}

/// A group that grows around an anchor.
struct Growth<'a> {
    graph: &'a Graph,
    facts: &'a Facts,
    cx: &'a PassCx<'a>,
    anchor: NodeId,
    side: Side,
}

impl Growth<'_> {
    /// The groups around the anchor, each with one node more than the one before; their nodes are in graph order.
    fn grow(&self, groups: &mut Groups<'_>) -> Vec<Vec<NodeId>> {
        let (graph, facts, anchor) = (self.graph, self.facts, self.anchor);
        let (mut nodes, mut grown) = (vec![anchor], Vec::new());
        let mut next: BTreeSet<NodeId> = self.beside(anchor).collect();
        while let Some(id) = self.nearest(&mut next) {
            let group = Group { graph, facts, anchor, nodes: &nodes };
            if groups.holds(id)
                || !self.cx.cost_model.takes(&group, id)
                || !self.may_unite(groups, id, &nodes)
            {
                continue;
            }
            nodes.insert(nodes.partition_point(|n| *n < id), id);
            grown.push(nodes.clone());
            next.extend(self.beside(id));
        }
        grown
    }

    /// The nodes that make what a node reads, or those that read what it makes; of what an anchor reads, its first
    /// operand counts.
    fn beside(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.graph.node(id);
        let maker = |v: ValueId| self.graph.value(v).def.0;
        let found: Vec<NodeId> = match self.side {
            Side::After => self.facts.users(node.output()).to_vec(),
            Side::Before if id == self.anchor => node.input(0).map(maker).into_iter().collect(),
            Side::Before => node.operands().map(maker).collect(),
        };
        found.into_iter()
    }

    /// Takes the node that lies nearest to the anchor.
    fn nearest(&self, next: &mut BTreeSet<NodeId>) -> Option<NodeId> {
        match self.side {
            Side::After => next.pop_first(),
            Side::Before => next.pop_last(),
        }
    }

    fn may_unite(&self, groups: &mut Groups<'_>, id: NodeId, nodes: &[NodeId]) -> bool {
        match self.side {
            Side::After => groups.may_unite(nodes, &[id]),
            Side::Before => groups.may_unite(&[id], nodes),
        }
    }
}
