//! `And`: both.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a and b with NumPy broadcasting (ONNX And): two Bool tensors → Bool.
    And and, BOOL, |b, x, y| b.and(x, y), Fill::Special, duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(a.min_with(b))
        }

        /// x and true == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.has_bytes(v, |b| b != 0))
        }
    }, grad Zero
}
