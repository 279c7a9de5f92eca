//! `IsNan`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::IsNan;
use pumice_types::DType;

impl Eval for IsNan {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        vec![Array::ints(
            DType::Bool,
            &x.shape,
            x.as_floats().iter().map(|v| i64::from(v.is_nan())).collect(),
        )]
    }
    exact!();
}
