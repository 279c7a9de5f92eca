//! What elementwise evaluations share: walking broadcast operands, and the macros that declare one in a few lines.
//!
//! Formulas are given in f64 for floats and in i64 for integers (U64 by its bits); the result is rounded or wrapped
//! once, by the array.

use crate::array::{Array, Data};
use crate::eval::EvalCx;
use crate::index::{count, expand};
use pumice_types::DType;

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod affine;
pub mod and;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atan2;
pub mod atanh;
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
pub mod cos;
pub mod cosh;
pub mod dequantize;
pub mod div;
pub mod dropout;
pub mod elementwise_grad;
pub mod elu;
pub mod equal;
pub mod erf;
pub mod exp;
pub mod exp2;
pub mod expm1;
pub mod floor;
pub mod fma;
pub mod gelu;
pub mod glu;
pub mod greater;
pub mod greater_or_equal;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod in_both;
pub mod is_inf;
pub mod is_nan;
pub mod leaky_relu;
pub mod less;
pub mod less_or_equal;
pub mod log;
pub mod log1p;
pub mod log2;
pub mod log_sigmoid;
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
pub mod relu;
pub mod round;
pub mod rsqrt;
pub mod select;
pub mod selu;
pub mod shrink;
pub mod sigmoid;
pub mod sign;
pub mod sin;
pub mod sinh;
pub mod softplus;
pub mod softsign;
pub mod sqrt;
pub mod square;
pub mod sub;
pub mod sum;
pub mod swish;
pub mod tan;
pub mod tanh;
pub mod thresholded_relu;
pub mod trunc;
pub mod xor;

/// One result from the operand's elements.
pub fn map(cx: &EvalCx<'_>, float: impl Fn(f64) -> f64, int: impl Fn(DType, i64) -> i64) -> Vec<Array> {
    let x = cx.arg(0);
    vec![match &x.data {
        Data::Float(v) => Array::floats(x.dtype, &x.shape, v.iter().map(|&v| float(v)).collect()),
        Data::Int(v) => Array::ints(x.dtype, &x.shape, v.iter().map(|&v| int(x.dtype, v)).collect()),
    }]
}

/// One result from two broadcast operands of one dtype, of that dtype.
pub fn zip(
    cx: &EvalCx<'_>,
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(DType, i64, i64) -> i64,
) -> Vec<Array> {
    vec![zip_two(cx.arg(0), cx.arg(1), cx.out().1, float, int)]
}

/// As [`zip`], for two arrays and the shape they broadcast to.
pub fn zip_two(
    a: &Array,
    b: &Array,
    shape: &[u64],
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(DType, i64, i64) -> i64,
) -> Array {
    let (x, y) = (expand(a, shape), expand(b, shape));
    match (&x.data, &y.data) {
        (Data::Float(x), Data::Float(y)) => {
            Array::floats(a.dtype, shape, x.iter().zip(y).map(|(&x, &y)| float(x, y)).collect())
        }
        _ => {
            let pairs = x.as_ints().iter().zip(y.as_ints());
            Array::ints(a.dtype, shape, pairs.map(|(&x, &y)| int(a.dtype, x, y)).collect())
        }
    }
}

/// A Bool result from two broadcast operands.
pub fn compare(
    cx: &EvalCx<'_>,
    float: impl Fn(f64, f64) -> bool,
    int: impl Fn(std::cmp::Ordering) -> bool,
) -> Vec<Array> {
    let (_, shape) = cx.out();
    let (x, y) = (expand(cx.arg(0), shape), expand(cx.arg(1), shape));
    let results: Vec<i64> = match (&x.data, &y.data) {
        (Data::Float(x), Data::Float(y)) => x.iter().zip(y).map(|(&x, &y)| i64::from(float(x, y))).collect(),
        _ => {
            let order = |(&a, &b): (&i64, &i64)| {
                if x.dtype == DType::U64 { (a as u64).cmp(&(b as u64)) } else { a.cmp(&b) }
            };
            x.as_ints().iter().zip(y.as_ints()).map(|p| i64::from(int(order(p)))).collect()
        }
    };
    vec![Array::ints(DType::Bool, shape, results)]
}

/// The left fold of broadcast operands of one dtype, in f64 throughout; one operand is returned as it is.
pub fn fold(
    cx: &EvalCx<'_>,
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(DType, i64, i64) -> i64,
) -> (DType, Data) {
    let (dtype, shape) = cx.out();
    let mut operands = cx.present().into_iter().map(|a| expand(a, shape).into_owned().data);
    let empty = Data::Float(vec![0.0; count(shape)]);
    let first = operands.next().unwrap_or(empty);
    let data = operands.fold(first, |acc, next| match (acc, next) {
        (Data::Float(a), Data::Float(b)) => {
            Data::Float(a.iter().zip(&b).map(|(&x, &y)| float(x, y)).collect())
        }
        (Data::Int(a), Data::Int(b)) => {
            Data::Int(a.iter().zip(&b).map(|(&x, &y)| int(dtype, x, y)).collect())
        }
        (acc, _) => acc,
    });
    (dtype, data)
}

/// An array of the first result's type over data that is not yet rounded.
pub fn rounded(cx: &EvalCx<'_>, data: Data) -> Vec<Array> {
    let (dtype, shape) = cx.out();
    vec![match data {
        Data::Float(v) => Array::floats(dtype, shape, v),
        Data::Int(v) => Array::ints(dtype, shape, v),
    }]
}

/// For ops without an integer form.
pub fn no_int(_: DType, v: i64) -> i64 {
    v
}

/// Larger of two, NaN if either is.
pub fn max(x: f64, y: f64) -> f64 {
    if x.is_nan() || x >= y { x } else { y }
}

/// Smaller of two, NaN if either is.
pub fn min(x: f64, y: f64) -> f64 {
    if x.is_nan() || x <= y { x } else { y }
}

/// Whether x < y as values of an integer dtype.
pub fn int_lt(dtype: DType, x: i64, y: i64) -> bool {
    if dtype == DType::U64 { (x as u64) < (y as u64) } else { x < y }
}

/// Declares a unary op: units in the last place for f32 (and an absolute difference that is close regardless), formula
/// for floats and, where there are any, for integers.
macro_rules! unary_eval {
    ($Name:ident, ulp $ulp:expr, |$op:ident, $x:ident| $float:expr $(, int |$d:ident, $i:ident| $int:expr)? $(, slope $slope:expr)?) => {
        $crate::ops::elementwise::unary_eval!($Name, ulp $ulp, abs 0.0, |$op, $x| $float $(, int |$d, $i| $int)? $(, slope $slope)?);
    };
    ($Name:ident, ulp $ulp:expr, abs $abs:expr, |$op:ident, $x:ident| $float:expr $(, int |$d:ident, $i:ident| $int:expr)? $(, slope $slope:expr)?) => {
        impl $crate::eval::Eval for pumice_ir::ops::$Name {
            fn eval(&self, cx: &$crate::eval::EvalCx<'_>) -> Vec<$crate::array::Array> {
                #[allow(unused_variables)]
                let $op = self;
                #[allow(unused_mut, unused_assignments)]
                let mut int: fn(pumice_types::DType, i64) -> i64 = $crate::ops::elementwise::no_int;
                $(int = |$d: pumice_types::DType, $i: i64| -> i64 { $int };)?
                $crate::ops::elementwise::map(cx, |$x: f64| $float, int)
            }
            fn tolerance(&self, cx: &$crate::eval::EvalCx<'_>) -> $crate::tolerance::Tolerance {
                #[allow(unused_variables)]
                let $op = self;
                $crate::tolerance::Tolerance::ulps_or(cx.out().0, $ulp, $abs)
            }
            $(fn gradient(&self, _by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
                #[allow(unused_variables)]
                let ($op, $x) = (self, x.first().copied().flatten()?);
                Some(dy * $slope)
            })?
        }
    };
}
pub(crate) use unary_eval;

/// Declares a unary op whose result is bit-equal everywhere.
macro_rules! exact_unary_eval {
    ($Name:ident, |$op:ident, $x:ident| $float:expr $(, int |$d:ident, $i:ident| $int:expr)? $(, slope $slope:expr)?) => {
        impl $crate::eval::Eval for pumice_ir::ops::$Name {
            fn eval(&self, cx: &$crate::eval::EvalCx<'_>) -> Vec<$crate::array::Array> {
                #[allow(unused_variables)]
                let $op = self;
                #[allow(unused_mut, unused_assignments)]
                let mut int: fn(pumice_types::DType, i64) -> i64 = $crate::ops::elementwise::no_int;
                $(int = |$d: pumice_types::DType, $i: i64| -> i64 { $int };)?
                $crate::ops::elementwise::map(cx, |$x: f64| $float, int)
            }
            fn tolerance(&self, _cx: &$crate::eval::EvalCx<'_>) -> $crate::tolerance::Tolerance {
                $crate::tolerance::Tolerance::Exact
            }
            $(fn gradient(&self, _by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
                #[allow(unused_variables)]
                let ($op, $x) = (self, x.first().copied().flatten()?);
                Some(dy * $slope)
            })?
        }
    };
}
pub(crate) use exact_unary_eval;

/// Declares a binary op of one dtype.
macro_rules! binary_eval {
    ($Name:ident, ulp $ulp:expr, |$x:ident, $y:ident| $float:expr, int |$d:ident, $i:ident, $j:ident| $int:expr $(, slopes $by_x:expr, $by_y:expr)?) => {
        impl $crate::eval::Eval for pumice_ir::ops::$Name {
            fn eval(&self, cx: &$crate::eval::EvalCx<'_>) -> Vec<$crate::array::Array> {
                let int = |$d: pumice_types::DType, $i: i64, $j: i64| -> i64 { $int };
                $crate::ops::elementwise::zip(cx, |$x: f64, $y: f64| $float, int)
            }
            fn tolerance(&self, cx: &$crate::eval::EvalCx<'_>) -> $crate::tolerance::Tolerance {
                $crate::tolerance::Tolerance::ulps(cx.out().0, $ulp)
            }
            $(fn gradient(&self, by: usize, operands: &[Option<f64>], dy: f64) -> Option<f64> {
                #[allow(unused_variables)]
                let ($x, $y) = (operands.first().copied().flatten()?, operands.get(1).copied().flatten()?);
                Some(dy * if by == 0 { $by_x } else { $by_y })
            })?
        }
    };
}
pub(crate) use binary_eval;

/// Declares a comparison.
macro_rules! compare_eval {
    ($Name:ident, |$x:ident, $y:ident| $float:expr, |$o:ident| $int:expr) => {
        impl $crate::eval::Eval for pumice_ir::ops::$Name {
            fn eval(&self, cx: &$crate::eval::EvalCx<'_>) -> Vec<$crate::array::Array> {
                $crate::ops::elementwise::compare(
                    cx,
                    |$x: f64, $y: f64| $float,
                    |$o: std::cmp::Ordering| $int,
                )
            }
            fn tolerance(&self, _cx: &$crate::eval::EvalCx<'_>) -> $crate::tolerance::Tolerance {
                $crate::tolerance::Tolerance::Exact
            }
        }
    };
}
pub(crate) use compare_eval;

/// Declares the tolerance of an op that is exact.
macro_rules! exact {
    () => {
        fn tolerance(&self, _cx: &$crate::eval::EvalCx<'_>) -> $crate::tolerance::Tolerance {
            $crate::tolerance::Tolerance::Exact
        }
    };
}
pub(crate) use exact;
