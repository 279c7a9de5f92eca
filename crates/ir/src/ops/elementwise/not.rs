//! `Not`: logical negation.

use crate::ops::control::condition::is_not;
use crate::ops::elementwise::unary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;
use pumice_types::DimExpr;

unary! {
    /// y = not x (ONNX Not): bool\[…\] → bool\[…\].
    Not not, BOOL, |b, x| b.not(x), Fill::Special, duties {
        fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.first().map(is_not)
        }

        /// !(!x) == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.undoes()
        }
    }, grad Zero
}
