//! How close is close enough (OPS 1.7). One table in code: each op names its class, this file says what a class is.

use pumice_types::DType;

/// f32 unit roundoff, 2⁻²⁴.
pub const EPS32: f64 = 5.960_464_477_539_063e-8;

/// A tolerance class with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// T0: bit-equal; NaN equals NaN of any payload.
    Exact,
    /// T1: units in the last place of the declared dtype, or an absolute difference near 0.
    Ulp {
        /// Units in the last place.
        ulp: f64,
        /// Absolute difference that is close regardless.
        abs: f64,
    },
    /// T2: 4(⌈log₂K⌉+4)·ε₃₂·Σ|term| plus one rounding to the declared dtype, for sums of K terms.
    Sum {
        /// Number of terms.
        k: u64,
    },
}

impl Tolerance {
    /// Whether `got` is close to `want`. `magnitude` is Σ|term| for `Sum`, else ignored. Non-finite values are close
    /// only to the same non-finite value, except that an overflow within the tolerance of the largest finite value is
    /// accepted for `Ulp` and `Sum`.
    pub fn accepts(self, dtype: DType, want: f64, got: f64, magnitude: f64) -> bool {
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        if want == got {
            return match self {
                Tolerance::Exact => want != 0.0 || want.is_sign_negative() == got.is_sign_negative(),
                _ => true,
            };
        }
        let near_overflow = |v: f64| v.is_infinite() || v.abs() >= largest(dtype) * (1.0 - 1e-5);
        if want.is_infinite() || got.is_infinite() {
            return !matches!(self, Tolerance::Exact)
                && want.signum() == got.signum()
                && near_overflow(want)
                && near_overflow(got);
        }
        let difference = (want - got).abs();
        match self {
            Tolerance::Exact => false,
            Tolerance::Ulp { ulp: units, abs } => {
                // Subnormal f32 results may be flushed to zero (OPS 1.3.4).
                difference <= abs.max(f64::from(f32::MIN_POSITIVE)) || difference <= units * ulp(dtype, want)
            }
            Tolerance::Sum { k } => {
                let steps = 4.0 * ((k.max(1) as f64).log2().ceil() + 4.0);
                difference <= steps * EPS32 * magnitude + 0.5 * ulp(dtype, want) + f64::from(f32::MIN_POSITIVE)
            }
        }
    }
}

fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(half::bf16::MAX),
        _ => f64::from(f32::MAX),
    }
}

/// Distance of neighbouring values of the dtype at `v`.
pub fn ulp(dtype: DType, v: f64) -> f64 {
    let (bits, min_exponent) = match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        _ => (24, -126),
    };
    let exponent = if v == 0.0 { min_exponent } else { v.abs().log2().floor() as i32 };
    2f64.powi(exponent.max(min_exponent) - (bits - 1))
}
