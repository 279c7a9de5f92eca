//! `Mul`: the product, element by element.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a·b with NumPy broadcasting (ONNX Mul): two tensors of one dtype → that dtype. Integers wrap.
    Mul mul, NUMERIC, |b, x, y| b.mul(x, y), Fill::Special, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a * b)
        }

        /// x * 1 == x == 1 * x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.is_all(v, 1.0))
        }
    }
}
