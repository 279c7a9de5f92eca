//! log, log2, log1p.
//!
//! x = 2ᵏ(1 + f) with √½ ≤ 1 + f < √2; log(1 + f) = f − f²/2 + f³P(f).

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::Function;
use super::exp::{LN2_HI, LN2_LO};
use super::{INF, NAN};

/// The bits of √½.
const SQRT_HALF: i32 = 0x3f35_04f3;
/// (log(1 + f) − f + f²/2)/f³ on √½ − 1 ≤ f ≤ √2 − 1, to 2⁻²⁷ of log(1 + f).
const LOG: [f32; 8] = [
    0.333_333_3,
    -0.250_008_2,
    0.200_012_58,
    -0.166_234_4,
    0.142_010_96,
    -0.131_585_84,
    0.127_657_8,
    -0.076_445_12,
];

const LOG_RULE: Function = Function::one("log", |b, x, _, t| b.div(t, x));
const LOG2_RULE: Function =
    Function::one("log2", |b, x, _, t| b.mul(b.div(t, x), b.f32(std::f32::consts::LOG2_E)));
const LOG1P_RULE: Function = Function::one("log1p", |b, x, _, t| b.div(t, b.add(x, b.f32(1.0))));

impl ScalarBuilder {
    /// ln x; −∞ at ±0, NaN below.
    pub fn log(&self, x: Reg) -> Reg {
        self.noted(&LOG_RULE, &[x], || {
            let (f, k) = self.log_reduce(x);
            let small = self.fma(k, self.f32(LN2_LO), self.log_bend(f));
            let y = self.add(self.mul_precise(k, self.f32(LN2_HI)), self.add_precise(f, small));
            self.log_special(x, x, y)
        })
    }

    /// log₂ x; exact at powers of two, −∞ at ±0, NaN below.
    pub fn log2(&self, x: Reg) -> Reg {
        self.noted(&LOG2_RULE, &[x], || {
            let (f, k) = self.log_reduce(x);
            let y = self.fma(self.add(f, self.log_bend(f)), self.f32(std::f32::consts::LOG2_E), k);
            self.log_special(x, x, y)
        })
    }

    /// ln(1 + x), accurate near zero; −∞ at −1, NaN below.
    pub fn log1p(&self, x: Reg) -> Reg {
        self.noted(&LOG1P_RULE, &[x], || {
            let sum = self.two_sum(self.f32(1.0), x);
            let (m, k) = self.log_parts(sum.hi);
            // What rounding 1 + x lost, in units of the reduced value; beyond 2⁶⁴ it does not matter.
            let far = self.gt(k, self.i32(64));
            let unit = self.power_of_two(self.neg(self.select(far, self.i32(64), k)));
            let f = self.add_precise(self.sub_precise(m, self.f32(1.0)), self.mul_precise(sum.lo, unit));
            let f = self.select(self.eq(k, self.i32(0)), x, f);
            let k = self.convert_raw(k, RegType::F32);
            let small = self.fma(k, self.f32(LN2_LO), self.log_bend(f));
            let y = self.add(self.mul_precise(k, self.f32(LN2_HI)), self.add_precise(f, small));
            let tiny = self.lt(self.abs(x), self.f32(2f32.powi(-25)));
            self.select(tiny, x, self.log_special(x, sum.hi, y))
        })
    }

    /// ln(1 + t) for 0 ≤ t ≤ 1, or NaN.
    pub(super) fn log1p_unit(&self, t: Reg) -> Reg {
        let upper = self.gt(t, self.f32(0.414_213_54));
        let halved = self.mul_precise(self.sub_precise(t, self.f32(1.0)), self.f32(0.5));
        let f = self.select(upper, halved, t);
        let ln2 = self.select(upper, self.f32(std::f32::consts::LN_2), self.f32(0.0));
        self.add(ln2, self.add_precise(f, self.log_bend(f)))
    }

    /// log(1 + f) − f for the reduced f.
    fn log_bend(&self, f: Reg) -> Reg {
        let inner = self.fma(f, self.poly(f, &LOG), self.f32(-0.5));
        self.mul(self.mul(f, f), inner)
    }

    /// x = 2ᵏ(1 + f) for a positive finite x; f and k as floats. Anything for other x.
    pub(super) fn log_reduce(&self, x: Reg) -> (Reg, Reg) {
        let subnormal = self.lt(x, self.f32(f32::MIN_POSITIVE));
        let scaled = self.select(subnormal, self.mul_precise(x, self.f32(2f32.powi(24))), x);
        let (m, k) = self.log_parts(scaled);
        let shift = self.select(subnormal, self.i32(24), self.i32(0));
        let k = self.convert_raw(self.sub(k, shift), RegType::F32);
        (self.sub_precise(m, self.f32(1.0)), k)
    }

    /// x = 2ᵏ·m for a positive normal x, with √½ ≤ m < √2 and k an I32.
    fn log_parts(&self, x: Reg) -> (Reg, Reg) {
        let bits = self.bitcast(x, RegType::I32);
        let above = self.sub(bits, self.i32(SQRT_HALF));
        let k = self.shr(above, self.u32(23));
        let m = self.sub(bits, self.shl(k, self.u32(23)));
        (self.bitcast(m, RegType::F32), k)
    }

    /// The values a logarithm has where the reduction means nothing; `argument` is what the log is taken of.
    fn log_special(&self, x: Reg, argument: Reg, y: Reg) -> Reg {
        let zero = self.f32(0.0);
        let finite = self.select(self.eq(argument, zero), self.f32(-INF), y);
        let upward = self.select(self.not_finite(x), x, finite);
        self.select(self.lt(argument, zero), self.f32(NAN), upward)
    }
}
