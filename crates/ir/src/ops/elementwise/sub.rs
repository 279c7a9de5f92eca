//! `Sub`: the difference.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a − b with NumPy broadcasting (ONNX Sub): two tensors of one dtype → that dtype. Integers wrap.
    Sub sub, NUMERIC, |b, x, y| b.sub(x, y), Fill::Special, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a - b)
        }

        /// x - 0 == x, since x - 0 is x + -0.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.before_neutral(|v| cx.is_all(v, 0.0))
        }
    }
}
