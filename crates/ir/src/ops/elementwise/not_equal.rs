//! `NotEqual`: inequality.

use crate::ops::control::condition::is_unlike;
use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a ≠ b with NumPy broadcasting (ONNX NotEqual): two tensors of one dtype → Bool. True with NaN, zeros are
    /// equal, 64-bit integers are compared as such.
    NotEqual not_equal, ANY -> Bool, |b, x, y| b.ne(x, y), Fill::Special, also || compare_more(|g, x, y| g.not_equal(x, y)), duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(is_unlike(a, b))
        }
    }, grad Zero
}
