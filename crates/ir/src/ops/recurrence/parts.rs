//! Steps in parts: a driver may end a loop that is too long, and the state is handed on from part to part.

use crate::ops::{Concat, Reshape, Split};
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::DimExpr;

/// The most parts of a constant number of steps, and of one that symbols decide, whose extents are sums.
const MOST: [u64; 2] = [2048, 128];

/// Steps along an axis, cut.
pub(super) struct Parts {
    axis: i64,
    /// Steps of each part; of the last ones none where symbols say so.
    pub sizes: Vec<DimExpr>,
}

impl Parts {
    /// Parts of at most `span` of these steps; `None` where there is one part, or too many.
    pub fn of(graph: &Graph, axis: i64, steps: &DimExpr, span: u64) -> Option<Parts> {
        let count = steps.upper(graph.symbols()).div_ceil(span);
        let most = MOST[usize::from(steps.as_const().is_none())];
        if count < 2 || count > most {
            return None;
        }
        let [zero, whole] = [0, span].map(DimExpr::from);
        let left = |part: u64| steps - &DimExpr::from(part * span);
        let size = |part: u64| match part {
            0 => steps.min_with(&whole),
            _ => left(part).max_with(&zero).min_with(&whole),
        };
        Some(Parts { axis, sizes: (0..count).map(size).collect() })
    }

    /// An operand's parts.
    pub fn split(&self, patch: &mut Patch, name: &str, x: PatchRef) -> Vec<PatchRef> {
        let split = Split { axis: self.axis, sizes: self.sizes.clone(), num_outputs: None };
        let first = patch.add(split, format!("{name}.parts"), &[x]);
        (0..self.sizes.len()).filter_map(|i| result(first, i as u16)).collect()
    }

    /// Puts the parts in the place of a node's first result, and these in that of the others.
    pub fn join(
        &self,
        (graph, id): (&Graph, NodeId),
        mut patch: Patch,
        parts: &[PatchRef],
        others: &[Option<PatchRef>],
    ) -> Patch {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let joined = patch.add(Concat { axis: self.axis }, format!("{name}.joined"), parts);
        let shape = graph.ty(node.outputs[0]).shape.to_vec();
        let whole = patch.add(Reshape { shape }, name, &[joined]);
        let old: Vec<ValueId> = node.outputs[1..].to_vec();
        patch.replace(node.outputs[0], whole);
        old.into_iter()
            .zip(others)
            .for_each(|(old, new)| new.iter().for_each(|new| patch.replace(old, *new)));
        patch
    }
}

/// Another result of a new node.
pub(super) fn result(of: PatchRef, i: u16) -> Option<PatchRef> {
    match of {
        PatchRef::New(node, _) => Some(PatchRef::New(node, i)),
        PatchRef::Old(_) => None,
    }
}
