//! `BiasAdd`: the `Add` it is defined by.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::ops::elementwise::zip_two;
use crate::tolerance::Tolerance;
use pumice_ir::ops::BiasAdd;

impl Eval for BiasAdd {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (x, b) = (cx.arg(0), cx.arg(1));
        let after = x.shape.len() - axis_of(self.axis, x.shape.len()) - 1;
        let mut shape = b.shape.clone();
        shape.resize(1 + after, 1);
        vec![zip_two(x, &b.reshaped(&shape), &x.shape, |x, y| x + y, |_, i, j| i.wrapping_add(j))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 0.5)
    }
}
