//! `CastLike`.

use super::cast::convert;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::CastLike;

impl Eval for CastLike {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![convert(cx.arg(0), cx.out().0)]
    }
    exact!();
}
