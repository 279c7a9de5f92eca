//! Leaves: their values come from outside, or are written in the graph.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::count;
use crate::ops::elementwise::exact;
use pumice_ir::ops::{Constant, Input, Param, Scalar, State};

impl Eval for Constant {
    fn eval(&self, _cx: &EvalCx<'_>) -> Vec<Array> {
        vec![Array::from_tensor(&self.data)]
    }
    exact!();
}

/// What a leaf is where nobody gave it a value: zeros. Evaluators take leaves from their caller and do not ask.
fn zeros(cx: &EvalCx<'_>) -> Vec<Array> {
    let (dtype, shape) = cx.out();
    let n = count(shape);
    vec![if dtype.is_float() {
        Array::floats(dtype, shape, vec![0.0; n])
    } else {
        Array::ints(dtype, shape, vec![0; n])
    }]
}

macro_rules! outside {
    ($($Name:ident),*) => {$(
        impl Eval for $Name {
            fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
                zeros(cx)
            }
            exact!();
        }
    )*};
}
outside!(Input, Param, Scalar, State);
