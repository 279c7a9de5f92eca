//! `Ceil`: the integer above.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = ⌈x⌉ (ONNX Ceil): x\[…\] → the same type. The sign of zero stays.
    Ceil ceil, FLOATS, |b, x| b.ceil(x), Fill::Special, grad Zero
}
