//! `ArgMax`.

use super::arg::places;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::ArgMax;

impl Eval for ArgMax {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        places(cx, self.axis, self.select_last_index, false)
    }
    exact!();
}
