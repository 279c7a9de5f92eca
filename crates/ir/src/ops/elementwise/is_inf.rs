//! `IsInf`: whether a value is infinite.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = whether x is infinite, of the signs asked for (ONNX IsInf): x\[…\] → bool\[…\].
    IsInf is_inf {
        /// Whether −Inf counts.
        detect_negative: bool = true,
        /// Whether +Inf counts.
        detect_positive: bool = true,
    }, FLOATS -> Bool, |op, _cx, b, x| {
        let wanted = b.select(b.sign_bit(x), b.bool(op.detect_negative), b.bool(op.detect_positive));
        b.and(b.is_inf(x), wanted)
    },
    Fill::Special, settings [
        IsInf { detect_negative: true, detect_positive: true }, IsInf { detect_negative: false, detect_positive: true },
        IsInf { detect_negative: true, detect_positive: false }, IsInf { detect_negative: false, detect_positive: false }
    ], grad Zero
}
