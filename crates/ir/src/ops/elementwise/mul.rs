//! `Mul`: the product, element by element.

use crate::ops::elementwise::binary;
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a·b with NumPy broadcasting (ONNX Mul): two tensors of one dtype → that dtype. Integers wrap.
    Mul mul, NUMERIC, |b, x, y| b.mul(x, y), Fill::Special, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a * b)
        }
    }
}
