//! `Extent`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::ops::elementwise::exact;
use pumice_ir::ops::Extent;
use pumice_types::DType;

impl Eval for Extent {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let shape = &cx.arg(0).shape;
        vec![Array::ints(DType::I32, &[], vec![shape[axis_of(self.axis, shape.len())] as i64])]
    }
    exact!();
}
