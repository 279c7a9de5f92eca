//! `InBoth`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::ops::elementwise::exact;
use pumice_ir::ops::InBoth;
use pumice_types::DType;

impl Eval for InBoth {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (i, n) = (cx.arg(0), cx.arg(1).as_ints()[0]);
        let outside = i.as_ints().iter().enumerate().filter(|(_, i)| **i >= n);
        outside.for_each(|(at, _)| cx.raise(Status::ExtentMismatch(at as u64)));
        let is = i.as_ints().iter().map(|i| i64::from(*i < n)).collect();
        vec![Array::ints(DType::Bool, &i.shape, is)]
    }
    exact!();
}
