//! `Equal`: equality.

use crate::ops::control::condition::{is_not, is_unlike};
use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a = b with NumPy broadcasting (ONNX Equal): two tensors of one dtype → Bool. False with NaN, zeros are
    /// equal, 64-bit integers are compared as such.
    Equal equal, ANY -> Bool, |b, x, y| b.eq(x, y), Fill::Special, also || compare_more(|g, x, y| g.equal(x, y)), duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(is_not(&is_unlike(a, b)))
        }
    }, grad Zero
}
