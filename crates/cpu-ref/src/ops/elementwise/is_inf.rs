//! `IsInf`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::IsInf;
use pumice_types::DType;

impl Eval for IsInf {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let found = |v: &f64| {
            let wanted = if *v < 0.0 { self.detect_negative } else { self.detect_positive };
            i64::from(v.is_infinite() && wanted)
        };
        vec![Array::ints(DType::Bool, &x.shape, x.as_floats().iter().map(found).collect())]
    }
    exact!();
}
