//! `Less`: smaller.

use crate::ops::control::condition::is_above;
use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a < b with NumPy broadcasting (ONNX Less): two tensors of one dtype → Bool. False with NaN, zeros are
    /// equal, 64-bit integers are compared as such.
    Less less, NUMERIC -> Bool, |b, x, y| b.lt(x, y), Fill::Special, also || compare_more(|g, x, y| g.less(x, y)), duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(is_above(b, a))
        }
    }, grad Zero
}
