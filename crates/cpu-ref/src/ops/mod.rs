//! Evaluation of every op: one file each.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::{Op, ops};

pub mod control;
pub mod convolution;
pub mod elementwise;
pub mod loss;
pub mod movement;
pub mod norm;
pub mod product;
pub mod random;
pub mod recurrence;
pub mod reduction;
pub mod signal;
pub mod transformer;

macro_rules! dispatch {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {
        fn eval_as_given(op: &Op, cx: &EvalCx<'_>) -> Vec<Array> {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::eval(op, cx),)*)* }
        }

        /// The gradient of an elementwise op by an operand; none where it has no formula.
        pub fn gradient(op: &Op, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::gradient(op, by, x, dy),)*)* }
        }

        fn tolerance_as_given(op: &Op, cx: &EvalCx<'_>) -> Tolerance {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::tolerance(op, cx),)*)* }
        }

        fn magnitude_as_given(op: &Op, cx: &EvalCx<'_>) -> Vec<f64> {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::magnitude(op, cx),)*)* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);

/// Evaluates any op.
pub fn eval(op: &Op, cx: &EvalCx<'_>) -> Vec<Array> {
    rounding_factors(op, cx, |cx| eval_as_given(op, cx))
}

/// Tolerance of a result of any op for these operands.
pub fn tolerance(op: &Op, cx: &EvalCx<'_>) -> Tolerance {
    let plain = rounding_factors(op, cx, |cx| tolerance_as_given(op, cx));
    plain.of_product(op.rounding(), op.factors())
}

/// Σ|term| of a result of any op.
pub fn magnitude(op: &Op, cx: &EvalCx<'_>) -> Vec<f64> {
    rounding_factors(op, cx, |cx| magnitude_as_given(op, cx))
}

/// What `of` gives for the factors of an op as it rounds them.
fn rounding_factors<T>(op: &Op, cx: &EvalCx<'_>, of: impl FnOnce(&EvalCx<'_>) -> T) -> T {
    let Some(dtype) = op.rounding().dtype() else { return of(cx) };
    let factors = cx.inputs.iter().take(op.factors());
    let rounded: Vec<Option<Array>> = factors.map(|x| x.map(|x| x.rounded_to(dtype))).collect();
    let others = cx.inputs.iter().copied().skip(rounded.len());
    let inputs: Vec<Option<&Array>> = rounded.iter().map(Option::as_ref).chain(others).collect();
    let inner = EvalCx { result: cx.result, ..EvalCx::new(&inputs, cx.outputs, cx.bindings) };
    let result = of(&inner);
    inner.status.into_inner().into_iter().for_each(|status| cx.raise(status));
    result
}
