//! Float remainders, exact for every pair of operands.
//!
//! Long division in base 2¹²: the divisor's mantissa b in 1..2 and a remainder below 2¹²·b, both multiples of
//! 2⁻²³, so that each digit q and each q·b (as two 12-bit halves) is exact. 22 digits cover the widest quotient.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::{Function, Pushed, Tangent, sum};
use super::NAN;
use super::double::Double;

const DIGITS: u32 = 22;

/// ẋ − trunc(x/y)·ẏ.
const FMOD_RULE: Function = Function::any("fmod", remainder);
/// ẋ − ⌊x/y⌋·ẏ.
const FLOOR_MOD_RULE: Function = Function::any("floor_mod", remainder);

/// The quotient is what the remainder says: x/y itself may be rounded to the next integer.
fn remainder(b: &ScalarBuilder, p: &Pushed<'_>) -> Tangent {
    let quotient = || b.round_even(b.div(b.sub(p.operand(0), p.result), p.operand(1)));
    sum(b, p.tangent(0), p.tangent(1).map(|t| b.neg(b.mul(quotient(), t))))
}

impl ScalarBuilder {
    /// C fmod: the sign of x, |result| < |y|. NaN for infinite x or y = 0; x for infinite y. A subnormal y
    /// counts as 0.
    pub fn fmod(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&FMOD_RULE, &[x, y], || {
            let (a, b) = (self.magnitude_bits(x), self.magnitude_bits(y));
            let r = self.copysign(self.long_division(a, b), x);
            let r = self.select(self.lt(a, b), x, r);
            let infinity = self.u32(0x7f80_0000);
            let no_divisor = self.lt(b, self.u32(0x0080_0000));
            let nan = self.or(self.or(self.ge(a, infinity), self.gt(b, infinity)), no_divisor);
            self.select(nan, self.f32(NAN), r)
        })
    }

    /// x − ⌊x/y⌋·y: the sign of y. For infinite y: x, or y if the signs differ.
    pub fn floor_mod(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&FLOOR_MOD_RULE, &[x, y], || {
            let r = self.fmod(x, y);
            let differ = self.ne(self.sign_bit(r), self.sign_bit(y));
            let nonzero = self.ne(r, self.f32(0.0));
            let moved = self.select(self.and(nonzero, differ), self.add(r, y), r);
            self.select(self.eq(moved, self.f32(0.0)), self.copysign(self.f32(0.0), y), moved)
        })
    }

    /// The remainder of two positive normal floats given by their bits, a ≥ b.
    fn long_division(&self, a: Reg, b: Reg) -> Reg {
        let fraction = self.u32(0x007f_ffff);
        let exponent = |v| self.shr(v, self.u32(23));
        let unit = |v| self.bitcast(self.or(self.and(v, fraction), self.u32(0x3f80_0000)), RegType::F32);
        let distance = self.sub(exponent(a), exponent(b));
        let first = self.div(distance, self.u32(12));
        let offset = self.sub(distance, self.mul(first, self.u32(12)));
        let offset = self.bitcast(self.shl(self.add(offset, self.u32(127)), self.u32(23)), RegType::F32);
        let start = self.mul_precise(unit(a), offset);
        let divisor = self.divisor(unit(b));
        let mut r = self.f32(0.0);
        for digit in (0..DIGITS).rev() {
            let lowered = self.mul_precise(r, self.f32(4096.0));
            r = self.select(self.eq(first, self.u32(digit)), start, lowered);
            r = self.rest(r, &divisor);
        }
        let scale = self.bitcast(self.and(b, self.u32(0x7f80_0000)), RegType::F32);
        self.mul_precise(r, scale)
    }

    fn divisor(&self, value: Reg) -> Divisor {
        let halves = self.split(value);
        // A little too large, so that a digit is never too small; too large by one is mended afterwards.
        let inverse = self.mul(self.div_raw(self.f32(1.0), value), self.f32(1.0 + 2f32.powi(-21)));
        Divisor { value, halves, inverse }
    }

    /// What a digit leaves of r.
    fn rest(&self, r: Reg, divisor: &Divisor) -> Reg {
        let q = self.floor(self.mul_precise(r, divisor.inverse));
        let r = self.sub_precise(r, self.mul_precise(q, divisor.halves.hi));
        let r = self.sub_precise(r, self.mul_precise(q, divisor.halves.lo));
        self.select(self.lt(r, self.f32(0.0)), self.add_precise(r, divisor.value), r)
    }
}

/// What every digit is divided by.
struct Divisor {
    value: Reg,
    halves: Double,
    /// About 1 / value.
    inverse: Reg,
}
