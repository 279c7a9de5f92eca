//! `BitCast`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::BitCast;

impl Eval for BitCast {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        vec![Array::from_natural(self.to, &x.shape, &x.to_bytes())]
    }
    exact!();
}
