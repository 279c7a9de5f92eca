//! erf and gelu.
//!
//! erfc a = R(t)·e^(−a²) with t = 1/(1 + 0.34a), for every a ≥ 0. The square is formed exactly as h² + (a − h)(a +
//! h), so the far tail of gelu keeps its relative accuracy. Near zero erf has a polynomial of its own.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::tangent::Function;
use super::double::Double;

/// erf x/x − 1 in x², |x| ≤ 1, to 2⁻²⁹ of erf x.
const ERF: [f32; 7] = [
    0.128_379_17,
    -0.376_126_26,
    0.112_835_79,
    -0.026_853_347,
    0.005_187_162,
    -0.000_799_785_3,
    7.806_903e-5,
];
/// erfc(a)·e^(a²) in t, for 0 ≤ a ≤ 10.5, to 2⁻²⁷ of itself.
const ERFCX: [f32; 11] = [
    -4.714_160_2e-6,
    0.191_919_85,
    0.191_052_72,
    0.183_640_99,
    0.156_256,
    0.102_229_84,
    0.209_136_89,
    -0.209_821_78,
    0.356_587_17,
    -0.228_845_02,
    0.047_848_046,
];

/// 2/√π·e^(−x²).
const ERF_RULE: Function = Function::one("erf", |b, x, _, t| {
    b.mul(t, b.mul(b.f32(std::f32::consts::FRAC_2_SQRT_PI), b.exp(b.neg(b.mul(x, x)))))
});

/// Φ + xφ: ½(1 + erf(x/√2)) + x·e^(−x²/2)/√(2π).
const GELU_RULE: Function = Function::one("gelu", |b, x, _, t| {
    // From 15 on the density is 0 in f32.
    let x = b.clamp(x, b.f32(-15.0), b.f32(15.0));
    let half = b.f32(0.5);
    let below = b.fma(half, b.erf(b.mul(x, b.f32(std::f32::consts::FRAC_1_SQRT_2))), half);
    let density = b.mul(b.exp(b.mul(b.mul(x, x), b.f32(-0.5))), b.f32(0.398_942_3));
    b.mul(t, b.fma(x, density, below))
});

impl ScalarBuilder {
    /// erf x; ±1 at ±∞.
    pub fn erf(&self, x: Reg) -> Reg {
        self.noted(&ERF_RULE, &[x], || {
            let a = self.limit(self.abs(x), 0.0, 10.4);
            let u = self.mul(a, a);
            let near = self.fma(a, self.poly(u, &ERF), a);
            let tail = self.mul(self.erfcx(a), self.exp_of_square(a, -1.0));
            let far = self.sub(self.f32(1.0), tail);
            self.copysign(self.select(self.lt(a, self.f32(1.0)), near, far), x)
        })
    }

    /// ½x(1 + erf(x/√2)); NaN at −∞, where it is −∞·0.
    pub fn gelu(&self, x: Reg) -> Reg {
        self.noted(&GELU_RULE, &[x], || {
            // At 14.6 the tail is 0 in f32.
            let a = self.limit(self.abs(x), 0.0, 14.6);
            let scaled = self.mul(a, self.f32(std::f32::consts::FRAC_1_SQRT_2));
            let half_tail =
                self.mul(self.mul(self.erfcx(scaled), self.f32(0.5)), self.exp_of_square(a, -0.5));
            let upper = self.sub(self.f32(1.0), half_tail);
            self.mul(x, self.select(self.lt(x, self.f32(0.0)), half_tail, upper))
        })
    }

    /// erfc(a)·e^(a²) for 0 ≤ a ≤ 10.5.
    fn erfcx(&self, a: Reg) -> Reg {
        let one = self.f32(1.0);
        let t = self.div_raw(one, self.fma(a, self.f32(0.34), one));
        self.poly(t, &ERFCX)
    }

    /// e^(factor·a²) for a power of two `factor` < 0 and 0 ≤ a with factor·a² > −110.
    fn exp_of_square(&self, a: Reg, factor: f32) -> Reg {
        let Double { hi, lo } = self.split(a);
        let factor = self.f32(factor);
        let main = self.mul_precise(self.mul_precise(hi, hi), factor);
        let rest = self.mul_precise(self.mul_precise(lo, self.add_precise(a, hi)), factor);
        let (r, n) = self.exp_reduce(main, Some(rest));
        self.scale2(self.exp_small(r), n)
    }
}
