//! How close is close enough (OPS 1.7). One table in code: each op names its class, this file says what a class is.

use pumice_ir::ops::Rounding;
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
        /// What T3 allows besides, of Σ|term|.
        more: f64,
    },
}

impl Tolerance {
    /// T1 for a function that is computed in f32 within `units` ULP of the true value. The reference is itself rounded,
    /// hence half a unit more; a 16-bit result is the same value rounded again, which can move it by one unit of its
    /// own. Up to half a unit (sums, products) the result is the correctly rounded one in every float dtype. Integers
    /// and booleans are exact.
    pub fn ulps(dtype: DType, units: f64) -> Tolerance {
        Tolerance::ulps_or(dtype, units, 0.0)
    }

    /// As [`Tolerance::ulps`], or within the absolute difference `abs`.
    pub fn ulps_or(dtype: DType, units: f64, abs: f64) -> Tolerance {
        match dtype {
            DType::F32 if units > 0.5 => Tolerance::Ulp { ulp: units + 0.5, abs },
            DType::F16 | DType::BF16 if units > 0.5 => Tolerance::Ulp { ulp: 1.0 + units / 8192.0, abs },
            d if d.is_float() => Tolerance::Ulp { ulp: 0.5, abs },
            _ => Tolerance::Exact,
        }
    }

    /// T1 for a result of which every element is one of an operand: nothing is rounded, but the sign of zero is open.
    pub fn chosen(dtype: DType) -> Tolerance {
        if dtype.is_float() { Tolerance::Ulp { ulp: 0.0, abs: 0.0 } } else { Tolerance::Exact }
    }

    /// T2 for sums of `k` terms in a float dtype; integers wrap and are exact.
    pub fn sum(dtype: DType, k: u64) -> Tolerance {
        if dtype.is_float() { Tolerance::Sum { k, more: 0.0 } } else { Tolerance::Exact }
    }

    /// That of transforms of `n` values: 8·log₂n·2⁻²⁴ of ‖x‖₂, so many `times`; none for one value, which stays as it
    /// is.
    pub fn transform(n: u64, times: f64) -> Tolerance {
        let share = 8.0 * (n as f64).log2() * times * EPS32;
        if n == 1 { Tolerance::Exact } else { Tolerance::Sum { k: 1, more: share - Tolerance::of_sum(1) } }
    }

    /// T3 for a product whose factors are rounded: T2 on what was rounded, plus ⌈K/16⌉·2⁻²³, since the accumulator of a
    /// matrix unit is one chain that may truncate; of three factors (attention) 2⁻¹⁰ besides, in bf16 2⁻⁷, since
    /// probabilities are rounded relative to a running maximum.
    #[must_use]
    pub fn of_product(self, rounding: Rounding, factors: usize) -> Tolerance {
        let probabilities = match rounding {
            Rounding::None => return self,
            _ if factors < 3 => 0.0,
            Rounding::F16 => 2f64.powi(-10),
            Rounding::Bf16 => 2f64.powi(-7),
        };
        match self {
            Tolerance::Sum { k, .. } => {
                Tolerance::Sum { k, more: k.div_ceil(16) as f64 * 2.0 * EPS32 + probabilities }
            }
            other => other,
        }
    }

    /// The same for factors that are results of other sums: one that lies beside the middle of two rounded values may
    /// become either, which differ by 2⁻¹⁰ of it, in bf16 by 2⁻⁷.
    #[must_use]
    pub fn of_made_factors(self, rounding: Rounding) -> Tolerance {
        let step = match rounding {
            Rounding::None => return self,
            Rounding::F16 => 2f64.powi(-10),
            Rounding::Bf16 => 2f64.powi(-7),
        };
        match self {
            Tolerance::Sum { k, more } => Tolerance::Sum { k, more: more + step },
            other => other,
        }
    }

    /// The magnitude by which a term counts that is rounded to the dtype before it is summed further: the class gives
    /// at least 16·2⁻²⁴ = 2⁻²⁰ of it, and a unit of f16 is 2⁻¹⁰, of bf16 2⁻⁷ of the value.
    pub fn rounding_weight(dtype: DType) -> f64 {
        match dtype {
            DType::F16 => 1.0 + 1024.0,
            DType::BF16 => 1.0 + 8192.0,
            _ => 1.0,
        }
    }

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
        (want - got).abs() <= self.allowance(dtype, want, magnitude)
    }

    /// How far from a finite `want` a result may lie, overflows aside; `magnitude` as in [`Tolerance::accepts`].
    pub fn allowance(self, dtype: DType, want: f64, magnitude: f64) -> f64 {
        match self {
            Tolerance::Exact => 0.0,
            // Subnormal f32 results may be flushed to zero (OPS 1.3.4).
            Tolerance::Ulp { ulp: units, abs } => {
                abs.max(f64::from(f32::MIN_POSITIVE)).max(units * ulp(dtype, want))
            }
            Tolerance::Sum { k, more } => {
                // Both sides are rounded to the dtype: half a unit each.
                (Tolerance::of_sum(k) + more) * magnitude + ulp(dtype, want) + f64::from(f32::MIN_POSITIVE)
            }
        }
    }

    /// T2's share of Σ|term| for sums of `k` terms: 4(⌈log₂K⌉ + 4)·2⁻²⁴.
    pub fn of_sum(k: u64) -> f64 {
        4.0 * ((k.max(1) as f64).log2().ceil() + 4.0) * EPS32
    }

    /// Whether all that is allowed is the one rounding to the dtype.
    pub fn is_one_rounding(self) -> bool {
        matches!(self, Tolerance::Ulp { ulp, abs } if ulp <= 0.5 && abs == 0.0)
    }

    /// Whether nothing is rounded: the class of [`Tolerance::chosen`], and bit-equality.
    pub fn is_no_rounding(self) -> bool {
        matches!(self, Tolerance::Exact | Tolerance::Ulp { ulp: 0.0, abs: 0.0 })
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
