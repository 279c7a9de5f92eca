//! `Split`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{axis_of, offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Split;

impl Eval for Split {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let axis = axis_of(self.axis, x.shape.len());
        let walk = strides(&x.shape);
        let mut first = 0;
        let mut parts = Vec::with_capacity(cx.outputs.len());
        for (_, shape) in cx.outputs {
            let from = offsets(shape, &walk, first * walk[axis]);
            parts.push(x.gathered(shape, |i| from[i]));
            first += shape[axis] as i64;
        }
        parts
    }
    exact!();
}
