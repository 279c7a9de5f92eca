//! Evaluation of every op: one file each.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::Op;
use pumice_types::DType;

pub mod abs;
pub mod add;
pub mod elementwise;
pub mod extent;
pub mod fused;
pub mod identity;
pub mod kv_append;
pub mod leaf;
pub mod matmul;
pub mod reshape;
pub mod softmax;
pub mod state_read;
pub mod state_write;
pub mod transpose;

macro_rules! dispatch {
    ($($file:ident $Name:ident $text:literal;)*) => {
        /// Evaluates any op.
        pub fn eval(op: &Op, cx: &EvalCx<'_>) -> Vec<Array> {
            match op { $(Op::$Name(op) => Eval::eval(op, cx)),* }
        }

        /// Tolerance of any op for a result of that dtype.
        pub fn tolerance(op: &Op, dtype: DType) -> Tolerance {
            match op { $(Op::$Name(op) => Eval::tolerance(op, dtype)),* }
        }

        /// Σ|term| behind result 0 of any op.
        pub fn magnitude(op: &Op, cx: &EvalCx<'_>) -> Vec<f64> {
            match op { $(Op::$Name(op) => Eval::magnitude(op, cx)),* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);
