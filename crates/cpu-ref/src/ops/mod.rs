//! Evaluation of every op: one file each.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::{Op, ops};

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod affine;
pub mod and;
pub mod arg_max;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atan2;
pub mod atanh;
pub mod attention;
pub mod attention_merge;
pub mod attention_parts;
pub mod bias_add;
pub mod bit_cast;
pub mod bit_shift;
pub mod bitwise_and;
pub mod bitwise_not;
pub mod bitwise_or;
pub mod bitwise_xor;
pub mod cast;
pub mod cast_like;
pub mod ceil;
pub mod celu;
pub mod clip;
pub mod concat;
pub mod cos;
pub mod cosh;
pub mod dequantize;
pub mod div;
pub mod dropout;
pub mod elementwise;
pub mod elu;
pub mod equal;
pub mod erf;
pub mod exp;
pub mod exp2;
pub mod expand;
pub mod expm1;
pub mod extent;
pub mod fft;
pub mod flatten;
pub mod floor;
pub mod fma;
pub mod fused;
pub mod gather;
pub mod gelu;
pub mod glu;
pub mod greater;
pub mod greater_or_equal;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod identity;
pub mod is_inf;
pub mod is_nan;
pub mod kv_append;
pub mod layer_norm;
pub mod leaf;
pub mod leaky_relu;
pub mod less;
pub mod less_or_equal;
pub mod linear;
pub mod log;
pub mod log1p;
pub mod log2;
pub mod log_sigmoid;
pub mod log_softmax;
pub mod matmul;
pub mod max;
pub mod mean;
pub mod min;
pub mod mish;
pub mod modulo;
pub mod mul;
pub mod neg;
pub mod not;
pub mod not_equal;
pub mod or;
pub mod p_relu;
pub mod pow;
pub mod pow_scalar;
pub mod reciprocal;
pub mod reduce;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod relu;
pub mod reshape;
pub mod rms_norm;
pub mod rotary;
pub mod round;
pub mod rsqrt;
pub mod select;
pub mod selu;
pub mod shrink;
pub mod sigmoid;
pub mod sign;
pub mod sin;
pub mod sinh;
pub mod slice;
pub mod softmax;
pub mod softplus;
pub mod softsign;
pub mod split;
pub mod sqrt;
pub mod square;
pub mod squeeze;
pub mod state_read;
pub mod state_write;
pub mod sub;
pub mod sum;
pub mod swish;
pub mod tan;
pub mod tanh;
pub mod thresholded_relu;
pub mod transpose;
pub mod trunc;
pub mod unsqueeze;
pub mod xor;

macro_rules! dispatch {
    ($($file:ident $Name:ident $text:literal $($boxed:ident)?;)*) => {
        /// Evaluates any op.
        pub fn eval(op: &Op, cx: &EvalCx<'_>) -> Vec<Array> {
            match op { $(Op::$Name(op) => <ops::$Name as Eval>::eval(op, cx)),* }
        }

        /// Tolerance of a result of any op for these operands.
        pub fn tolerance(op: &Op, cx: &EvalCx<'_>) -> Tolerance {
            match op { $(Op::$Name(op) => <ops::$Name as Eval>::tolerance(op, cx)),* }
        }

        /// Σ|term| of a result of any op.
        pub fn magnitude(op: &Op, cx: &EvalCx<'_>) -> Vec<f64> {
            match op { $(Op::$Name(op) => <ops::$Name as Eval>::magnitude(op, cx)),* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);
