//! `Min`: the smaller of any number of tensors.

use crate::ops::elementwise::variadic;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use crate::{Graph, NodeId, Patch};
use pumice_types::DimExpr;

variadic! {
    /// y = the smaller of all operands with NumPy broadcasting (ONNX Min): one or more tensors of one dtype → that
    /// dtype. NaN wins.
    Min min, NUMERIC, elementwise true, |b, xs| xs.into_iter().reduce(|x, y| b.min(x, y)), Fill::Special, grad crate::ops::Grad::Rule(super::extremum::rule), duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a.min_with(&b))
        }

        /// A chain of nodes where the operands are many.
        fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
            super::extremum::split(graph, id, || Min {}.into())
        }

        /// min(x) == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            if cx.node().inputs.len() == 1 { cx.is_operand() } else { None }
        }
    }
}
