//! xʸ in f32.
//!
//! |x|ʸ = 2^(y·log₂|x|), with the logarithm as a sum of two floats (error below 2⁻³⁰), so that the result stays
//! within a few ulps over the whole range of exponents. Signs and special values are selects after it.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::{Function, sum};
use super::double::Double;
use super::{INF, NAN};

/// (log((1 + s)/(1 − s)) − 2s)/s³ in s², |s| ≤ 0.1717, to 2⁻³².
const LOGS: [f32; 3] = [0.666_668_2, 0.399_734_9, 0.299_641_85];
/// 1/ln 2 to 12 bits, and the rest.
const LOG2_E: [f32; 2] = [1.442_382_8, 0.000_312_228_4];
/// Exponents beyond this give 0, 1 or ∞ for every x.
const LARGE: f32 = 4_294_967_296.0;

/// y·x^(y − 1)·ẋ, 0 where y is 0, and xʸ·ln x·ẏ, 0 where x is 0 and y is not negative.
const POW_RULE: Function = Function::any("pow", |b, p| {
    let (x, y, zero) = (p.operand(0), p.operand(1), b.f32(0.0));
    let base =
        p.tangent(0).map(|t| b.select(b.eq(y, zero), zero, b.mul(t, b.mul(y, one_less(b, x, y, p.result)))));
    let exponent = p.tangent(1).map(|t| {
        let still = b.and(b.eq(x, zero), b.ge(y, zero));
        b.select(still, zero, b.mul(t, b.mul(p.result, b.log(x))))
    });
    sum(b, base, exponent)
});

/// x^(y − 1): xʸ/x where that loses nothing, since y − 1 is rounded below ½.
fn one_less(b: &ScalarBuilder, x: Reg, y: Reg, power: Reg) -> Reg {
    let size = b.abs(power);
    let usual = b.and(b.gt(size, b.f32(2f32.powi(-100))), b.lt(size, b.f32(2f32.powi(100))));
    b.select(usual, b.div(power, x), b.pow(x, b.sub(y, b.f32(1.0))))
}

impl ScalarBuilder {
    /// xʸ: x < 0 needs an integer y (its parity gives the sign) or is NaN; x⁰ = 1 and 1ʸ = 1 even for NaN;
    /// 0 to a negative power is ∞, signed for −0 to an odd power.
    pub fn pow(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&POW_RULE, &[x, y], || {
            let (zero, one) = (self.f32(0.0), self.f32(1.0));
            let a = self.abs(x);
            let magnitude = self.pow_magnitude(a, self.limit(y, -LARGE, LARGE));
            // |x| = 0 or ∞: 0 or ∞ by the sign of y.
            let extreme = self.or(self.eq(a, zero), self.eq(a, self.f32(INF)));
            let grows = self.xor(self.eq(a, zero), self.gt(y, zero));
            let at_extreme = self.select(grows, self.f32(INF), zero);
            let r = self.select(extreme, at_extreme, magnitude);
            let (integer, odd) = self.parity(y);
            let below = self.lt(x, zero);
            let negated = self.and(self.sign_bit(x), odd);
            let r = self.select(negated, self.neg(r), r);
            let no_root = self.and(self.and(below, self.not(integer)), self.not(self.eq(a, self.f32(INF))));
            let nan = self.or(no_root, self.or(self.is_nan(x), self.is_nan(y)));
            let r = self.select(nan, self.f32(NAN), r);
            let always_one = self.or(self.eq(x, one), self.eq(y, zero));
            self.select(always_one, one, r)
        })
    }

    /// Whether y is an integer (±∞ counts as an even one), and whether it is odd.
    fn parity(&self, y: Reg) -> (Reg, Reg) {
        let integer = self.eq(self.trunc(y), y);
        // From 2²⁴ on every float is even.
        let small = self.lt(self.abs(y), self.f32(16_777_216.0));
        let n = self.convert_raw(self.select(small, y, self.f32(0.0)), RegType::I32);
        let odd = self.ne(self.and(n, self.i32(1)), self.i32(0));
        (integer, self.and(integer, odd))
    }

    /// aʸ for a positive finite a and |y| ≤ 2³².
    fn pow_magnitude(&self, a: Reg, y: Reg) -> Reg {
        let log = self.log2_double(a);
        let product = self.two_product(y, log.hi);
        let rest = self.add_precise(product.lo, self.mul_precise(y, log.lo));
        let outside = self.gt(self.abs(product.hi), self.f32(160.0));
        let rest = self.select(outside, self.f32(0.0), rest);
        let exponent = self.limit(product.hi, -160.0, 160.0);
        let (k, n) = self.nearest(exponent);
        let r = self.add_precise(self.sub_precise(exponent, k), rest);
        self.scale2(self.exp2_small(r), n)
    }

    /// log₂ a of a positive finite a. With s = f/(2 + f), log(1 + f) = 2s + s³P(s²); s is kept to 33 bits.
    fn log2_double(&self, a: Reg) -> Double {
        let (f, k) = self.log_reduce(a);
        let d = self.two_sum(self.f32(2.0), f);
        let inverse = self.div_raw(self.f32(1.0), d.hi);
        let s = self.split(self.mul_precise(f, inverse)).hi;
        let parts = self.split(d.hi);
        let remainder = self.sub_precise(f, self.mul_precise(s, parts.hi));
        let remainder = self.sub_precise(remainder, self.mul_precise(s, parts.lo));
        let remainder = self.sub_precise(remainder, self.mul_precise(s, d.lo));
        let s_lo = self.mul_precise(remainder, inverse);
        let whole = self.add_precise(s, s_lo);
        let u = self.mul(whole, whole);
        let cubic = self.mul(self.mul(whole, u), self.poly(u, &LOGS));
        let lo = self.add_precise(self.add(s_lo, s_lo), cubic);
        // (2s + lo)·log₂e, where 2s has 12 bits.
        let hi = self.add(s, s);
        let main = self.mul_precise(hi, self.f32(LOG2_E[0]));
        let log2_e = self.f32(std::f32::consts::LOG2_E);
        let small = self.fma(hi, self.f32(LOG2_E[1]), self.mul(lo, log2_e));
        let sum = self.two_sum(k, main);
        self.fast_two_sum(sum.hi, self.add_precise(sum.lo, small))
    }
}
