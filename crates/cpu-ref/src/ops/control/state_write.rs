//! `StateWrite`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::StateWrite;

impl Eval for StateWrite {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![cx.arg(1).clone()]
    }
    exact!();
}
