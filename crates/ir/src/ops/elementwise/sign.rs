//! `Sign`: −1, 0 or 1.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = −1, 0 or 1 by the sign of x (ONNX Sign): x\[…\] → the same type. NaN stays NaN; both zeros give 0.
    Sign sign, NUMERIC, |b, x| b.sign(x), Fill::Special, grad Zero
}
