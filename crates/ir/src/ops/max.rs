//! `Max`: the larger of any number of tensors.

use super::elementwise::variadic;
use crate::sample::Fill;
use pumice_types::DimExpr;

variadic! {
    /// y = the larger of all operands with NumPy broadcasting (ONNX Max): one or more tensors of one dtype → that dtype. NaN
    /// wins.
    Max max, NUMERIC, composite false, |b, xs| xs.into_iter().reduce(|x, y| b.max(x, y)), Fill::Special, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a.max_with(&b))
        }
    }
}
