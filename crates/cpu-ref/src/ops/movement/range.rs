//! `Range`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Range;

impl Eval for Range {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let start = self.start.eval(cx.bindings).expect("the symbols are bound");
        let values = (0..shape[0] as i64).map(|i| start.wrapping_add(i.wrapping_mul(self.delta)));
        vec![Array::ints(dtype, shape, values.collect())]
    }
    exact!();
}
