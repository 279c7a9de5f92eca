//! `Or`: either.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a or b with NumPy broadcasting (ONNX Or): two Bool tensors → Bool.
    Or or, BOOL, |b, x, y| b.or(x, y), Fill::Special, duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(a.max_with(b))
        }

        /// x or false == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.is_all(v, 0.0))
        }
    }, grad Zero
}
