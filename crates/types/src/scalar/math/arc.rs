//! asin, acos, atan, atan2.
//!
//! asin and acos use asin x = π/2 − 2 asin √((1 − x)/2) beyond ½; atan uses π/2 − atan(1/x) beyond 1.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::tangent::{Function, sum};
use super::{INF, NAN};

const PI: [f32; 2] = [std::f32::consts::PI, -8.742_278e-8];
const HALF_PI: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];
/// (asin x − x)/x³ in x², |x| ≤ ½, to 2⁻²⁷ of asin x.
const ASIN: [f32; 5] = [0.166_667_55, 0.074_951_805, 0.045_486_454, 0.024_094_45, 0.042_319_04];
/// (atan x − x)/x³ in x², |x| ≤ 1, to 2⁻³⁰ of atan x.
const ATAN: [f32; 10] = [
    -0.333_333_28,
    0.199_997_16,
    -0.142_803_43,
    0.110_612_33,
    -0.088_214_62,
    0.067_636_49,
    -0.044_983_257,
    0.022_777_617,
    -0.007_425_366_4,
    0.001_134_525_4,
];

/// 1/√(1 − x²).
const ASIN_RULE: Function = Function::one("asin", |b, x, _, t| b.div(t, half_chord(b, x)));
const ACOS_RULE: Function = Function::one("acos", |b, x, _, t| b.neg(b.div(t, half_chord(b, x))));
/// 1/(1 + x²).
const ATAN_RULE: Function = Function::one("atan", |b, x, _, t| b.div(t, b.fma(x, x, b.f32(1.0))));

/// (ẏx − yẋ)/(x² + y²), formed in units of the larger one.
const ATAN2_RULE: Function = Function::any("atan2", |b, p| {
    let (y, x) = (p.operand(0), p.operand(1));
    let size = b.max(b.abs(x), b.abs(y));
    let (v, u) = (b.div(y, size), b.div(x, size));
    let rest = b.mul(size, b.fma(u, u, b.mul(v, v)));
    let up = p.tangent(0).map(|t| b.mul(t, b.div(u, rest)));
    let down = p.tangent(1).map(|t| b.neg(b.mul(t, b.div(v, rest))));
    sum(b, up, down)
});

/// √(1 − x²).
fn half_chord(b: &ScalarBuilder, x: Reg) -> Reg {
    let one = b.f32(1.0);
    b.sqrt(b.mul(b.sub(one, x), b.add(one, x)))
}

impl ScalarBuilder {
    /// asin x; NaN outside −1..=1.
    pub fn asin(&self, x: Reg) -> Reg {
        self.noted(&ASIN_RULE, &[x], || {
            let (outer, r) = self.asin_core(x);
            let y = self.select(outer, self.constant_minus(HALF_PI, self.add(r, r)), r);
            self.arc_domain(x, self.copysign(y, x))
        })
    }

    /// acos x; NaN outside −1..=1.
    pub fn acos(&self, x: Reg) -> Reg {
        self.noted(&ACOS_RULE, &[x], || {
            let (outer, r) = self.asin_core(x);
            let negative = self.lt(x, self.f32(0.0));
            let twice = self.add(r, r);
            let far = self.select(negative, self.constant_minus(PI, twice), twice);
            let near = self.constant_minus(HALF_PI, self.copysign(r, x));
            self.arc_domain(x, self.select(outer, far, near))
        })
    }

    /// atan x; ±π/2 at ±∞.
    pub fn atan(&self, x: Reg) -> Reg {
        self.noted(&ATAN_RULE, &[x], || {
            let a = self.abs(x);
            let steep = self.gt(a, self.f32(1.0));
            let t = self.select(steep, self.div_raw(self.f32(1.0), a), a);
            let r = self.atan_unit(t);
            self.copysign(self.select(steep, self.constant_minus(HALF_PI, r), r), x)
        })
    }

    /// The angle of the point (x, y), in −π..=π; zeros and infinities as IEEE 754 has them.
    pub fn atan2(&self, y: Reg, x: Reg) -> Reg {
        self.noted(&ATAN2_RULE, &[y, x], || {
            let (a, b) = (self.abs(y), self.abs(x));
            let steep = self.gt(a, b);
            let (small, large) = (self.select(steep, b, a), self.select(steep, a, b));
            let quotient = self.div(small, large);
            let both_zero = self.eq(large, self.f32(0.0));
            let both_infinite = self.eq(small, self.f32(INF));
            let t = self.select(both_zero, self.f32(0.0), quotient);
            let r = self.atan_unit(self.select(both_infinite, self.f32(1.0), t));
            // r, π/2 − r, π/2 + r or π − r: base ± r.
            let left_half = self.sign_bit(x);
            let r = self.select(self.xor(steep, left_half), self.neg(r), r);
            let base = [0, 1].map(|i| {
                let flat = self.select(left_half, self.f32(PI[i]), self.f32(0.0));
                self.select(steep, self.f32(HALF_PI[i]), flat)
            });
            let r = self.add_precise(self.add_precise(base[0], r), base[1]);
            let nan = self.or(self.is_nan(x), self.is_nan(y));
            self.select(nan, self.f32(NAN), self.copysign(r, y))
        })
    }

    /// Whether |x| > ½, and asin of |x| or (then) of √((1 − |x|)/2).
    fn asin_core(&self, x: Reg) -> (Reg, Reg) {
        let a = self.abs(x);
        let outer = self.gt(a, self.f32(0.5));
        let half = self.mul_precise(self.sub_precise(self.f32(1.0), a), self.f32(0.5));
        let z = self.select(outer, half, self.mul(a, a));
        let s = self.select(outer, self.sqrt(half), a);
        (outer, self.fma(self.mul(s, z), self.poly(z, &ASIN), s))
    }

    /// atan t for 0 ≤ t ≤ 1.
    fn atan_unit(&self, t: Reg) -> Reg {
        let u = self.mul(t, t);
        self.fma(self.mul(t, u), self.poly(u, &ATAN), t)
    }

    fn constant_minus(&self, c: [f32; 2], r: Reg) -> Reg {
        self.add_precise(self.sub_precise(self.f32(c[0]), r), self.f32(c[1]))
    }

    fn arc_domain(&self, x: Reg, y: Reg) -> Reg {
        let inside = self.le(self.abs(x), self.f32(1.0));
        self.select(inside, y, self.f32(NAN))
    }
}
