//! The transcendental functions, expanded once into scalar instructions.
//!
//! In: an F32 register. Out: an F32 register with the value of the function, within the ULP targets of OPS 1.3.6
//! and right at NaN, ±∞ and ±0. Everything is branch-free (selects), polynomials are minimax fits made for pumice
//! with their error stated beside them, and nothing here relies on a device's own transcendental functions, on
//! whether `Fma` is fused, or on subnormals being kept. Where an error term is formed, the instructions are
//! precise ones.

mod activation;
mod arc;
mod double;
mod erf;
mod exp;
mod fmod;
mod hyper;
mod log;
mod pow;
mod trig;

use super::builder::{Reg, ScalarBuilder};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

impl ScalarBuilder {
    /// c₀ + c₁x + c₂x² + …, by Horner's rule.
    fn poly(&self, x: Reg, coefficients: &[f32]) -> Reg {
        let mut terms = coefficients.iter().rev();
        let mut sum = self.f32(terms.next().copied().unwrap_or(0.0));
        for &c in terms {
            sum = self.fma(sum, x, self.f32(c));
        }
        sum
    }

    /// x limited to lo..=hi by ordered comparisons; NaN stays.
    fn limit(&self, x: Reg, lo: f32, hi: f32) -> Reg {
        let (lo, hi) = (self.f32(lo), self.f32(hi));
        self.select(self.gt(x, hi), hi, self.select(self.lt(x, lo), lo, x))
    }

    /// Whether x is infinite or NaN, by its bits.
    fn not_finite(&self, x: Reg) -> Reg {
        self.ge(self.magnitude_bits(x), self.u32(0x7f80_0000))
    }
}
