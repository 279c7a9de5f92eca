//! `Sum`: the sum of any number of tensors.

use crate::ops::Add;
use crate::ops::def::expansion;
use crate::ops::elementwise::variadic;
use crate::sample::Fill;
use crate::{Graph, NodeId, Patch, PatchRef};

variadic! {
    /// y = a + b + …, folded from the left, with NumPy broadcasting (ONNX Sum): one or more tensors of one dtype → that
    /// dtype. Defined as a chain of Add.
    Sum sum, NUMERIC, elementwise false, |_b, _xs| None, Fill::Special, grad crate::ops::Grad::Expansion, duties {
        /// a + b + c + … == Add(Add(a, b), c) …, folded from the left.
        fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
            let mut patch = expansion(graph, id);
            let y = chain(graph, id, &mut patch, graph.node_name(id))?;
            patch.replace(graph.node(id).output(), y);
            Some(patch)
        }
    }
}

/// The operands of a node added up in order; the last Add has that name.
pub(crate) fn chain(graph: &Graph, id: NodeId, patch: &mut Patch, name: &str) -> Option<PatchRef> {
    let operands: Vec<PatchRef> = graph.node(id).operands().map(PatchRef::Old).collect();
    let (&first, rest) = operands.split_first()?;
    let mut sum = first;
    for (i, &x) in rest.iter().enumerate() {
        let part = if i + 1 == rest.len() { name.to_owned() } else { format!("{name}.part{i}") };
        sum = patch.add(Add {}, part, &[sum, x]);
    }
    Some(sum)
}
