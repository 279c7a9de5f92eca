//! `Sum`: a + b + c + … == Add(Add(a, b), c) …, folded from the left.

use super::{Decompose, patch_for};
use pumice_ir::ops::{Add, Sum};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

impl Decompose for Sum {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let mut patch = patch_for(graph, id);
        let y = chain(graph, id, &mut patch, graph.node_name(id))?;
        patch.replace(graph.node(id).output(), y);
        Some(patch)
    }
}

/// The operands of a node added up in order; the last Add has that name.
pub(super) fn chain(graph: &Graph, id: NodeId, patch: &mut Patch, name: &str) -> Option<PatchRef> {
    let operands: Vec<PatchRef> = graph.node(id).operands().map(PatchRef::Old).collect();
    let (&first, rest) = operands.split_first()?;
    let mut sum = first;
    for (i, &x) in rest.iter().enumerate() {
        let part = if i + 1 == rest.len() { name.to_owned() } else { format!("{name}.part{i}") };
        sum = patch.add(Add {}, part, &[sum, x]);
    }
    Some(sum)
}
