//! `Mean`: the mean of any number of tensors.

use crate::builder::scalar_tensor;
use crate::ops::def::expansion;
use crate::ops::elementwise::variadic;
use crate::ops::{Constant, Div};
use crate::sample::Fill;
use crate::{Graph, NodeId, Patch, PatchRef};
use std::sync::Arc;

variadic! {
    /// y = (a + b + …)/n with NumPy broadcasting (ONNX Mean): n ≥ 1 float tensors of one dtype → that dtype. Defined as
    /// Sum and a division.
    Mean mean, FLOATS, elementwise false, |_b, _xs| None, Fill::Special, grad crate::ops::Grad::Expansion, duties {
        /// (a + b + …)/n == Div(Sum(a, b, …), n).
        fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
            let (node, name) = (graph.node(id), graph.node_name(id));
            let mut patch = expansion(graph, id);
            let n = node.operands().count();
            if n == 1 {
                patch.replace(node.output(), PatchRef::Old(node.input(0)?));
                return Some(patch);
            }
            let sum = super::sum::chain(graph, id, &mut patch, &format!("{name}.sum"))?;
            let data = Arc::new(scalar_tensor(graph.ty(node.output()).dtype(), n as f64));
            let n = patch.add(Constant { data }, format!("{name}.n"), &[]);
            let y = patch.add(Div {}, name, &[sum, n]);
            patch.replace(node.output(), y);
            Some(patch)
        }
    }
}
