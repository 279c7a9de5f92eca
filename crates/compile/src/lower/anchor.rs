//! What the holes of kernels take in: one answer for the pass that makes fused nodes and for the lowering of them.
//!
//! In: a group of nodes around an anchor. Out: whether lowering makes one step of it. The values that the hole reads
//! besides the anchor's operands, and those that the group leaves besides the anchor's result, are the kernel's slots.

use crate::fused_body::is_whole;
use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_opt::rewrite::fuse::{escaping, is_literal, operands};
use pumice_opt::rewrite::{Facts, cost};
use pumice_opt::{Anchor, Group, Side};
use pumice_types::DType;

/// Instructions of a hole at most. Bias, exact GELU and residual are 94; rounding to f16 is 40 a node.
const INSTRUCTIONS: usize = 512;

/// Instructions of a node before sums at most: kernels that do not keep their rows load them more than once.
pub const CHEAP: usize = 48;

/// The hole of an anchor's kernel.
#[derive(Clone, Copy)]
pub struct Hole {
    /// What a fused node of it is called, and where its hole is.
    pub anchor: Anchor,
    /// Operands and further results that its kernel binds.
    pub slots: usize,
    /// Instructions of one node at most.
    pub instructions: usize,
    /// Whether it stores what it makes besides the anchor's value.
    pub stores: bool,
    /// Whether the kernel can walk this value along what goes through the hole.
    pub walks: fn(&Graph, &Node, ValueId) -> bool,
}

impl Hole {
    /// A hole after the result.
    pub fn after(kind: &'static str, slots: usize, walks: fn(&Graph, &Node, ValueId) -> bool) -> Hole {
        Hole {
            anchor: Anchor { kind, side: Side::After },
            slots,
            instructions: INSTRUCTIONS,
            stores: true,
            walks,
        }
    }

    /// The anchor's value that goes through the hole.
    fn value(&self, anchor: &Node) -> Option<ValueId> {
        match self.anchor.side {
            Side::After => Some(anchor.output()),
            Side::Before => anchor.input(0),
        }
    }
}

/// The anchor that a node is.
pub fn anchor(graph: &Graph, id: NodeId) -> Option<Anchor> {
    super::hole_of(graph, graph.node(id)).map(|hole| hole.anchor)
}

/// Whether the hole of the group's anchor could hold one node more: an elementwise node of floats over what goes
/// through it, whose operands the kernel can walk. Of what a hole makes for its anchor nothing else is read elsewhere.
pub fn takes(group: &Group<'_>, id: NodeId) -> bool {
    let Group { graph, facts, anchor, .. } = *group;
    let (at, node) = (graph.node(anchor), graph.node(id));
    let Some(hole) = super::hole_of(graph, at) else { return false };
    let (Some(value), Some(&result)) = (hole.value(at), node.outputs.first()) else { return false };
    let ty = graph.ty(result);
    let operand = |v: ValueId| {
        let dtype = graph.ty(v).dtype();
        let words = dtype == DType::F32 || !facts.shows_state(v);
        dtype.natural_bytes() < 8 && words && (hole.walks)(graph, at, v)
    };
    let stays = hole.anchor.side == Side::After || result == value || stays_in(group, result);
    let fits = node.op.is_elementwise()
        && ty.dtype().is_float()
        && ty.shape == graph.ty(value).shape
        && facts.is_load_time(id) == facts.is_load_time(anchor)
        && stays
        && node.operands().all(operand);
    fits && cost::instructions(graph, id).is_some_and(|more| has_capacity(group, &hole, more))
}

/// Whether a value is read in the group alone.
fn stays_in(group: &Group<'_>, v: ValueId) -> bool {
    let mut users = group.facts.users(v).iter();
    !group.facts.is_output(v) && users.all(|user| group.nodes.contains(user))
}

/// Whether the hole may have so many instructions more.
fn has_capacity(group: &Group<'_>, hole: &Hole, more: usize) -> bool {
    let others = group.nodes.iter().filter(|&&n| n != group.anchor);
    let before = others.filter_map(|&n| cost::instructions(group.graph, n)).sum::<usize>();
    more <= hole.instructions && before + more <= INSTRUCTIONS
}

/// Whether the slots of the anchor's kernel serve a group.
pub fn accepts(group: &Group<'_>) -> bool {
    let Group { graph, anchor, nodes, .. } = *group;
    let at = graph.node(anchor);
    let Some(hole) = super::hole_of(graph, at) else { return false };
    let of_anchor = kept_operands(&hole, at);
    // What is written into a body is no operand of the node, and the anchor's kernel reads operands, not the hole's
    // values.
    let is_read = |v: &ValueId| !is_literal(graph, *v) && !nodes.contains(&graph.value(*v).def.0);
    of_anchor.iter().all(is_read) && bound(group, &hole).is_some_and(|n| n <= hole.slots)
}

/// The operands of an anchor that its hole does not make.
fn kept_operands(hole: &Hole, anchor: &Node) -> Vec<ValueId> {
    match hole.anchor.side {
        Side::After => anchor.operands().collect(),
        Side::Before => anchor.inputs[1..].iter().flatten().copied().collect(),
    }
}

/// How many slots a group takes; none where the kernel has no operand of its own to load, or does not store what is
/// read elsewhere.
fn bound(group: &Group<'_>, hole: &Hole) -> Option<usize> {
    let Group { graph, facts, anchor, nodes } = *group;
    let at = graph.node(anchor);
    let of_anchor = kept_operands(hole, at);
    let in_hole =
        |v: &ValueId| nodes.iter().any(|&n| n != anchor && graph.node(n).operands().any(|o| o == *v));
    let read = operands(graph, nodes).into_iter().filter(|v| !of_anchor.contains(v) || in_hole(v));
    let read: Vec<ValueId> = read.collect();
    let stored = escaping(graph, facts, nodes).len().saturating_sub(1);
    if stored > 0 && !hole.stores {
        return None;
    }
    match hole.anchor.side {
        Side::After => Some(read.len() + stored),
        Side::Before => {
            let made = at.input(0)?;
            let has_whole = read.iter().any(|&v| is_whole(graph, v, made));
            has_whole.then(|| read.len() - 1 + stored)
        }
    }
}

/// How many values could be read, and added, in place of a value that a hole before an anchor reads; none where no hole
/// reads it.
pub fn addends(graph: &Graph, facts: &Facts, v: ValueId) -> Option<usize> {
    let mut between = Vec::new();
    let (anchor, hole) = through_elementwise(graph, facts, v).find_map(|(by, at)| {
        between.extend(by);
        facts.users(at).iter().find_map(|&user| Some((user, loads(graph, user, at)?)))
    })?;
    free_slots(graph, facts, (anchor, hole), &between).map(|n| n + 1).filter(|&n| n > 1)
}

/// A value, and what elementwise nodes make of it, one after the other, each with the node, as long as no other node
/// takes it.
fn through_elementwise(
    graph: &Graph,
    facts: &Facts,
    v: ValueId,
) -> impl Iterator<Item = (Option<NodeId>, ValueId)> {
    std::iter::successors(Some((None, v)), move |&(_, at)| {
        let user = facts.only_user(at).filter(|&user| graph.node(user).op.is_elementwise())?;
        Some((Some(user), graph.node(user).output()))
    })
}

/// The hole before a node that makes its first operand, where that is this value.
fn loads(graph: &Graph, user: NodeId, v: ValueId) -> Option<Hole> {
    let node = graph.node(user);
    let is_before = |hole: &Hole| hole.anchor.side == Side::Before && node.input(0) == Some(v);
    super::hole_of(graph, node).filter(is_before)
}

/// Slots that are left where a hole takes these nodes in, of which the last makes what the anchor loads.
fn free_slots(
    graph: &Graph,
    facts: &Facts,
    (anchor, hole): (NodeId, Hole),
    between: &[NodeId],
) -> Option<usize> {
    let mut nodes = vec![anchor];
    for &id in between.iter().rev() {
        let group = Group { graph, facts, anchor, nodes: &nodes };
        takes(&group, id).then(|| nodes.insert(0, id))?;
    }
    let group = Group { graph, facts, anchor, nodes: &nodes };
    let stored = between.is_empty() && facts.only_user(graph.node(anchor).input(0)?).is_none();
    hole.slots.checked_sub(bound(&group, &hole)? + usize::from(stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::{GraphBuilder, f32};

    /// A value of a stack of products is followed to the next product, however many come after that.
    #[test]
    fn addends_look_no_further_than_elementwise_nodes_go() {
        let g = GraphBuilder::new("stack");
        let (mut x, w) = (g.input("x", f32([1u64, 64])), g.param("w", f32([64u64, 64])));
        for _ in 0..2000 {
            x = g.relu(g.matmul(x, w));
        }
        let gamma = g.param("gamma", f32([64u64]));
        g.output("y", g.rms_norm(x, gamma, 1e-5));
        let graph = g.build().expect("a stack of products");
        let facts = Facts::new(&graph);
        let values: Vec<ValueId> = graph.nodes().map(|(_, node)| node.output()).collect();
        assert!(values.iter().all(|&v| through_elementwise(&graph, &facts, v).count() <= 2));
        // The last product, and what the norm reads.
        let is_read = |v: &&ValueId| addends(&graph, &facts, **v).is_some();
        assert_eq!(values.iter().filter(is_read).count(), 2);
    }
}
