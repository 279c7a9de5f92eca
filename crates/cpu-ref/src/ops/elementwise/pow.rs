//! `Pow`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Pow;
use pumice_types::DType;

impl Eval for Pow {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let (x, y) = (expand(cx.arg(0), shape), expand(cx.arg(1), shape));
        vec![match (&x.data, &y.data) {
            (Data::Float(x), Data::Float(y)) => {
                Array::floats(dtype, shape, x.iter().zip(y).map(|(x, y)| x.powf(*y)).collect())
            }
            (Data::Float(x), Data::Int(n)) => {
                let powers = x.iter().zip(n.iter().zip(y.to_f64()));
                Array::floats(dtype, shape, powers.map(|(&x, (&n, y))| float_to_int(x, n, y)).collect())
            }
            (Data::Int(x), Data::Int(n)) => {
                let unsigned = y.dtype == DType::U64;
                let pairs = x.iter().zip(n);
                Array::ints(dtype, shape, pairs.map(|(&x, &n)| int_pow(dtype, x, n, unsigned)).collect())
            }
            (Data::Int(base), Data::Float(y)) => {
                let pairs = base.iter().zip(x.to_f64()).zip(y);
                Array::ints(dtype, shape, pairs.map(|((&i, x), &y)| int_to_float(dtype, i, x, y)).collect())
            }
        }]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 16.0)
    }

    /// 0 by the base where the exponent is 0, and by the exponent where the base is 0 and it is not negative.
    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let (x, y) = (x.first().copied().flatten()?, x.get(1).copied().flatten()?);
        Some(match by {
            0 if y == 0.0 => 0.0,
            0 => dy * y * x.powf(y - 1.0),
            _ if x == 0.0 && y >= 0.0 => 0.0,
            _ => dy * x.powf(y) * x.ln(),
        })
    }
}

/// The sign by the integer's own parity: as a float every large one is even.
fn float_to_int(x: f64, n: i64, y: f64) -> f64 {
    let magnitude = x.abs().powf(y);
    if x.is_sign_negative() && n & 1 == 1 { -magnitude } else { magnitude }
}

/// By squaring, wrapping; to a negative power toward zero.
fn int_pow(dtype: DType, x: i64, n: i64, unsigned: bool) -> i64 {
    if n < 0 && !unsigned {
        return match x {
            1 => 1,
            -1 if dtype.is_signed() => {
                if n % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let (mut left, mut square, mut result) = (n as u64, x, 1i64);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

/// A whole exponent is that integer, held to i32; any other is a float power, a whole number where it is within 2⁻²⁰ of
/// itself of one, truncated and held to the dtype.
fn int_to_float(dtype: DType, i: i64, x: f64, y: f64) -> i64 {
    if y.trunc() == y {
        return int_pow(dtype, i, i64::from(y as i32), false);
    }
    let power = x.powf(y);
    let whole = power.round_ties_even();
    let near = (power - whole).abs() <= power * 2f64.powi(-20);
    super::cast::float_to_int(if near { whole } else { power }, dtype)
}
