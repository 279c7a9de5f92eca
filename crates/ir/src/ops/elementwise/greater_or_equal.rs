//! `GreaterOrEqual`: larger or equal.

use crate::ops::control::condition::{is_above, is_not};
use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;
use pumice_types::DimExpr;

binary! {
    /// y = a ≥ b with NumPy broadcasting (ONNX GreaterOrEqual): two tensors of one dtype → Bool. False with NaN, zeros
    /// are equal, 64-bit integers are compared as such.
    GreaterOrEqual greater_or_equal, NUMERIC -> Bool, |b, x, y| b.ge(x, y), Fill::Special, also || compare_more(|g, x, y| g.greater_or_equal(x, y)), duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            let [a, b] = operands else { return None };
            Some(is_not(&is_above(b, a)))
        }
    }, grad Zero
}
