//! Additions whose sum a norm over the last axis reads become one node of kind `norm` with it (OPS F1).
//!
//! s = x + r (+ b …), y = N(s) → (y), or (y, s) where the sum is needed elsewhere too. The body is the additions and
//! the norm, rounded where the graph rounds.
//!
//! Left alone: operands that are neither of the sum's shape nor a vector along the last axis nor a number, norms over
//! several axes. Runs before `fuse_epilogues`: the additions between a product and a norm are the norm's, which
//! waits for memory anyway (MiniLM, 32 x 128 tokens, H200, 2026-11-22: 3390 us, in the products' epilogues 3488).
//! Values are those of the graph to the bit.

use crate::pipeline::PassCx;
use crate::rewrite::fuse::{fuse, operands};
use crate::rewrite::norm::{is_addition, normalized};
use crate::rewrite::{Facts, Groups};
use pumice_ir::{Graph, NodeId, Patch, ValueId};
use pumice_types::slots;

/// One patch for every norm that takes an addition in.
pub fn fuse_residual_norms(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let mut patches = Vec::new();
    for (id, _) in graph.nodes() {
        if let Some(patch) = take_in(graph, &facts, &mut groups, id) {
            patches.push(patch);
        }
    }
    patches
}

fn take_in(graph: &Graph, facts: &Facts, groups: &mut Groups<'_>, norm: NodeId) -> Option<Patch> {
    let node = graph.node(norm);
    let sum = normalized(graph, facts, norm)?;
    let nodes = additions(graph, facts, groups, norm, sum)?;
    let stored = facts.only_user(sum).is_none();
    let results: Vec<ValueId> = std::iter::once(node.output()).chain(stored.then_some(sum)).collect();
    let patch = fuse(graph, "norm", &nodes, &results)?;
    groups.claim(nodes);
    Some(patch)
}

/// The norm and the additions before it that it can take in, in graph order; `None` if there are none.
fn additions(
    graph: &Graph,
    facts: &Facts,
    groups: &mut Groups<'_>,
    norm: NodeId,
    sum: ValueId,
) -> Option<Vec<NodeId>> {
    let stored = usize::from(facts.only_user(sum).is_none());
    let mut nodes = vec![norm];
    let mut open = vec![sum];
    while let Some(v) = open.pop() {
        let id = graph.value(v).def.0;
        let inner = v == sum || facts.only_user(v).is_some();
        if !inner || groups.holds(id) || !is_addition(graph, facts, id, sum) {
            continue;
        }
        let mut more = vec![id];
        more.extend_from_slice(&nodes);
        more.sort_unstable();
        // The kernel's own operand is one of what is added; γ and β have places of their own.
        let sums: Vec<NodeId> = more.iter().copied().filter(|&n| n != norm).collect();
        let added = operands(graph, &sums);
        let whole = added.iter().any(|&v| graph.ty(v).shape == graph.ty(sum).shape);
        let bound = added.len().saturating_sub(1) + stored;
        if whole && bound <= slots::NORM && groups.may_unite(&[id], &nodes) {
            nodes = more;
            open.extend(graph.node(id).operands());
        }
    }
    (nodes.len() > 1).then_some(nodes)
}
