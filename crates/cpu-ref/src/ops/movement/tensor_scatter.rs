//! `TensorScatter`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::control::kv_append::Rows;
use crate::ops::elementwise::exact;
use pumice_ir::ops::TensorScatter;

impl Eval for TensorScatter {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let pos = cx.opt(2).map_or(&[0][..], |pos| pos.as_ints());
        vec![Rows { axis: self.axis, mode: self.mode, pos }.written(cx)]
    }
    exact!();
}
