//! `CastLike`.

use super::cast::convert;
use super::elementwise::exact;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use pumice_ir::ops::CastLike;

impl Eval for CastLike {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![convert(cx.arg(0), cx.out().0)]
    }
    exact!();
}
