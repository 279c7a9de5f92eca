//! `Mean`: (a + b + …)/n == Div(Sum(a, b, …), n).

use super::{Decompose, patch_for, sum};
use pumice_ir::builder::scalar_tensor;
use pumice_ir::ops::{Constant, Div, Mean};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;
use std::sync::Arc;

impl Decompose for Mean {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = patch_for(graph, id);
        let n = node.operands().count();
        if n == 1 {
            patch.replace(node.output(), PatchRef::Old(node.input(0)?));
            return Some(patch);
        }
        let sum = sum::chain(graph, id, &mut patch, &format!("{name}.sum"))?;
        let data = Arc::new(scalar_tensor(graph.ty(node.output()).dtype(), n as f64));
        let n = patch.add(Constant { data }, format!("{name}.n"), &[]);
        let y = patch.add(Div {}, name, &[sum, n]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}
