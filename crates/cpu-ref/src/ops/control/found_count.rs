//! `FoundCount`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::ops::elementwise::exact;
use pumice_ir::ops::FoundCount;
use pumice_types::DType;

impl Eval for FoundCount {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let count = cx.arg(0).as_ints()[0];
        if !(0..=self.largest).contains(&count) {
            cx.raise(Status::FoundExtent(0));
        }
        vec![Array::ints(DType::I32, &[], vec![count.clamp(0, self.largest)])]
    }
    exact!();
}
