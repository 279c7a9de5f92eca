//! `ArgMin`.

use super::arg::places;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::ArgMin;

impl Eval for ArgMin {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        places(cx, self.axis, self.select_last_index, true)
    }
    exact!();
}
