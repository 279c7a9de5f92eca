//! Evaluation of every op: one file each.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::{Op, ops};

pub mod control;
pub mod convolution;
pub mod elementwise;
pub mod movement;
pub mod norm;
pub mod product;
pub mod reduction;
pub mod signal;
pub mod transformer;

macro_rules! dispatch {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {
        /// Evaluates any op.
        pub fn eval(op: &Op, cx: &EvalCx<'_>) -> Vec<Array> {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::eval(op, cx),)*)* }
        }

        /// Tolerance of a result of any op for these operands.
        pub fn tolerance(op: &Op, cx: &EvalCx<'_>) -> Tolerance {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::tolerance(op, cx),)*)* }
        }

        /// Σ|term| of a result of any op.
        pub fn magnitude(op: &Op, cx: &EvalCx<'_>) -> Vec<f64> {
            match op { $($(Op::$Name(op) => <ops::$Name as Eval>::magnitude(op, cx),)*)* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);
