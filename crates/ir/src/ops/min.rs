//! `Min`: the smaller of any number of tensors.

use super::elementwise::variadic;
use crate::sample::Fill;
use pumice_types::DimExpr;

variadic! {
    /// y = the smaller of all operands with NumPy broadcasting (ONNX Min): one or more tensors of one dtype → that dtype. NaN
    /// wins.
    Min min, NUMERIC, composite false, |b, xs| xs.into_iter().reduce(|x, y| b.min(x, y)), Fill::Special, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a.min_with(&b))
        }
    }
}
