//! `Expand`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::elementwise::exact;
use pumice_ir::ops::Expand;

impl Eval for Expand {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![expand(cx.arg(0), cx.out().1).into_owned()]
    }
    exact!();
}
