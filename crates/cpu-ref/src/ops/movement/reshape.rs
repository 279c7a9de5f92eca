//! `Reshape`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Reshape;

impl Eval for Reshape {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![cx.arg(0).reshaped(cx.out().1)]
    }
    exact!();
}
