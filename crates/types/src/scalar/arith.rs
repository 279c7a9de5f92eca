//! Arithmetic composed from instructions, to the rules of OPS 1.3 and 1.4.
//!
//! In and out: registers of one type. NaN tests are made on the bits, because a device may assume that no float
//! is NaN; zero and sign rules are written out wherever a device leaves them open.

use super::builder::{Reg, ScalarBuilder, chosen};
use super::opcode::{Opcode, RegType};
use super::tangent::{Function, sum};

const INF: f32 = f32::INFINITY;

/// Of integers, to which no tangent comes.
const INT_RULE: Function = Function::step("an integer");
/// Of truth values.
const TEST_RULE: Function = Function::step("test");
const SIGN_RULE: Function = Function::step("sign");

const ADD_RULE: Function = Function::any("add", |b, p| sum(b, p.tangent(0), p.tangent(1)));

const SUB_RULE: Function = Function::any("sub", |b, p| match (p.tangent(0), p.tangent(1)) {
    (Some(x), Some(y)) => Some(b.sub(x, y)),
    (x, y) => x.or(y.map(|y| b.neg(y))),
});

const MUL_RULE: Function = Function::any("mul", |b, p| {
    let left = p.tangent(0).map(|t| b.mul(t, p.operand(1)));
    let right = p.tangent(1).map(|t| b.mul(p.operand(0), t));
    sum(b, left, right)
});

const NEG_RULE: Function = Function::one("neg", |b, _, _, t| b.neg(t));

/// 0 at 0.
const ABS_RULE: Function = Function::one("abs", |b, x, _, t| {
    let zero = b.f32(0.0);
    b.select(b.gt(x, zero), t, b.select(b.lt(x, zero), b.neg(t), zero))
});

/// (ẋ − (x/y)·ẏ)/y.
const DIV_RULE: Function = Function::any("div", |b, p| {
    let down = p.tangent(1).map(|t| b.neg(b.mul(p.result, t)));
    sum(b, p.tangent(0), down).map(|t| b.div(t, p.operand(1)))
});

/// Of equal ones the second.
const MAX_RULE: Function = Function::any("max", |b, p| {
    let (x, y) = (p.operand(0), p.operand(1));
    chosen(b, b.or(b.gt(x, y), b.is_nan(x)), p.tangent(0), p.tangent(1))
});

/// Of equal ones the second.
const MIN_RULE: Function = Function::any("min", |b, p| {
    let (x, y) = (p.operand(0), p.operand(1));
    chosen(b, b.or(b.lt(x, y), b.is_nan(x)), p.tangent(0), p.tangent(1))
});

/// ẋ·sign(x)·sign(y).
const COPYSIGN_RULE: Function = Function::any("copysign", |b, p| {
    let flipped = b.xor(b.sign_bit(p.operand(0)), b.sign_bit(p.operand(1)));
    p.tangent(0).map(|t| b.select(flipped, b.neg(t), t))
});

/// ẋ/(2√x): ẋ/0 at 0.
const SQRT_RULE: Function = Function::one("sqrt", |b, _, y, t| b.div(t, b.add(y, y)));

/// −ẋ/(2x√x).
const RSQRT_RULE: Function =
    Function::one("rsqrt", |b, x, y, t| b.mul(t, b.mul(b.mul(y, b.f32(-0.5)), b.div(b.f32(1.0), x))));

impl ScalarBuilder {
    /// x + y of floats or (wrapping) integers.
    pub fn add(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&ADD_RULE, &[x, y], || self.by_kind(x, y, Opcode::FAdd, Opcode::IAdd))
    }

    /// x − y of floats or (wrapping) integers.
    pub fn sub(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&SUB_RULE, &[x, y], || self.by_kind(x, y, Opcode::FSub, Opcode::ISub))
    }

    /// x · y of floats or (wrapping) integers.
    pub fn mul(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&MUL_RULE, &[x, y], || self.by_kind(x, y, Opcode::FMul, Opcode::IMul))
    }

    fn by_kind(&self, x: Reg, y: Reg, float: Opcode, int: Opcode) -> Reg {
        let op = if x.ty() == RegType::F32 { float } else { int };
        self.emit(op, x.ty(), &[x, y])
    }

    /// −x: the sign of a float flipped (zero and NaN too); two's complement of an integer.
    pub fn neg(&self, x: Reg) -> Reg {
        self.noted(&NEG_RULE, &[x], || match x.ty() {
            RegType::F32 => self.emit(Opcode::FNeg, x.ty(), &[x]),
            ty => self.emit(Opcode::ISub, ty, &[self.number(ty, 0), x]),
        })
    }

    /// |x|; the most negative integer stays what it is.
    pub fn abs(&self, x: Reg) -> Reg {
        self.noted(&ABS_RULE, &[x], || match x.ty() {
            RegType::F32 => self.emit(Opcode::FAbs, x.ty(), &[x]),
            ty if ty.is_signed() => self.select(self.lt(x, self.number(ty, 0)), self.neg(x), x),
            ty if ty.is_int() => x,
            _ => self.mistyped("abs", &[x]),
        })
    }

    /// −1, 0 or 1; NaN stays NaN, and both zeros give +0.
    pub fn sign(&self, x: Reg) -> Reg {
        self.noted(&SIGN_RULE, &[x], || {
            let ty = x.ty();
            if ty == RegType::Bool {
                return self.mistyped("sign", &[x]);
            }
            let [zero, one] = [0, 1].map(|v| self.number(ty, v));
            let positive = self.select(self.gt(x, zero), one, zero);
            if !ty.is_signed() {
                return positive;
            }
            let s = self.select(self.lt(x, zero), self.number(ty, -1), positive);
            if ty == RegType::F32 { self.select(self.is_nan(x), x, s) } else { s }
        })
    }

    /// x / y. Floats: within 2.5 ULP for every y (operands are scaled away from the range where devices may
    /// lose the result), x/0 = ±∞, 0/0 NaN. Integers: toward zero, x/0 = 0, MIN/−1 = MIN.
    pub fn div(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&DIV_RULE, &[x, y], || match x.ty() {
            RegType::F32 => self.div_float(x, y),
            RegType::Bool => self.mistyped("div", &[x, y]),
            ty => self.div_int(ty, x, y),
        })
    }

    /// Scaling both by 2^∓64 is exact unless the quotient itself is subnormal or overflows.
    fn div_float(&self, x: Reg, y: Reg) -> Reg {
        let magnitude = self.abs(y);
        let up =
            self.select(self.lt(magnitude, self.f32(2f32.powi(-64))), self.f32(2f32.powi(64)), self.f32(1.0));
        let scale = self.select(self.gt(magnitude, self.f32(2f32.powi(64))), self.f32(2f32.powi(-64)), up);
        self.div_raw(self.mul_precise(x, scale), self.mul_precise(y, scale))
    }

    fn div_int(&self, ty: RegType, x: Reg, y: Reg) -> Reg {
        let [zero, one] = [0, 1].map(|v| self.number(ty, v));
        let by_zero = self.eq(y, zero);
        let mut divisor = self.select(by_zero, one, y);
        if !ty.is_signed() {
            return self.select(by_zero, zero, self.emit(Opcode::IDiv, ty, &[x, divisor]));
        }
        let by_minus_one = self.eq(y, self.number(ty, -1));
        divisor = self.select(by_minus_one, one, divisor);
        let q = self.emit(Opcode::IDiv, ty, &[x, divisor]);
        self.select(by_zero, zero, self.select(by_minus_one, self.neg(x), q))
    }

    /// Integer remainder with the dividend's sign (`Mod` with fmod = 1); x rem 0 = 0.
    pub fn rem(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&INT_RULE, &[x, y], || {
            let ty = x.ty();
            if !ty.is_int() {
                return self.mistyped("rem", &[x, y]);
            }
            let r = self.sub(x, self.mul(self.div(x, y), y));
            self.select(self.eq(y, self.number(ty, 0)), self.number(ty, 0), r)
        })
    }

    /// Integer remainder with the divisor's sign (`Mod` with fmod = 0); x mod 0 = 0.
    pub fn modulo(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&INT_RULE, &[x, y], || {
            let r = self.rem(x, y);
            let ty = x.ty();
            if !ty.is_signed() || !ty.is_int() {
                return r;
            }
            let zero = self.number(ty, 0);
            let signs_differ = self.lt(self.xor(r, y), zero);
            let other_side = self.and(self.ne(r, zero), signs_differ);
            self.select(other_side, self.add(r, y), r)
        })
    }

    /// The larger; NaN if either is NaN.
    pub fn max(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&MAX_RULE, &[x, y], || self.extremum(self.ge(x, y), x, y))
    }

    /// The smaller; NaN if either is NaN.
    pub fn min(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&MIN_RULE, &[x, y], || self.extremum(self.le(x, y), x, y))
    }

    /// An ordered comparison with NaN is false and yields y, so only a NaN x is left to be chosen.
    fn extremum(&self, take_x: Reg, x: Reg, y: Reg) -> Reg {
        let picked = self.select(take_x, x, y);
        if x.ty() == RegType::F32 { self.select(self.is_nan(x), x, picked) } else { picked }
    }

    /// Min(hi, Max(x, lo)): hi where lo > hi; NaN stays.
    pub fn clamp(&self, x: Reg, lo: Reg, hi: Reg) -> Reg {
        self.min(hi, self.max(lo, x))
    }

    /// Whether a float is NaN, by its bits.
    pub fn is_nan(&self, x: Reg) -> Reg {
        self.noted(&TEST_RULE, &[x], || self.gt(self.magnitude_bits(x), self.u32(0x7f80_0000)))
    }

    /// Whether a float is +∞ or −∞, by its bits.
    pub fn is_inf(&self, x: Reg) -> Reg {
        self.noted(&TEST_RULE, &[x], || self.eq(self.magnitude_bits(x), self.u32(0x7f80_0000)))
    }

    /// Whether the sign bit of a float is set (−0 and negative NaN too).
    pub fn sign_bit(&self, x: Reg) -> Reg {
        self.noted(&TEST_RULE, &[x], || self.lt(self.bitcast(x, RegType::I32), self.i32(0)))
    }

    /// Whether a float is 0 or has its sign bit set, by its bits: a comparison by value takes a subnormal for 0 on some
    /// devices (H200, 2026-11-28), and what is then multiplied by a large factor is far off.
    pub fn zero_or_below(&self, x: Reg) -> Reg {
        self.noted(&TEST_RULE, &[x], || self.le(self.bitcast(x, RegType::I32), self.i32(0)))
    }

    /// The bits of |x|, as U32: ordered as the magnitudes are, NaN above infinity.
    pub(super) fn magnitude_bits(&self, x: Reg) -> Reg {
        self.and(self.bitcast(x, RegType::U32), self.u32(0x7fff_ffff))
    }

    /// |magnitude| with the sign of `sign`, by the bits.
    pub fn copysign(&self, magnitude: Reg, sign: Reg) -> Reg {
        self.noted(&COPYSIGN_RULE, &[magnitude, sign], || {
            let s = self.and(self.bitcast(sign, RegType::U32), self.u32(0x8000_0000));
            self.bitcast(self.or(self.magnitude_bits(magnitude), s), RegType::F32)
        })
    }

    /// √x; √±0 = ±0, NaN below zero.
    pub fn sqrt(&self, x: Reg) -> Reg {
        self.noted(&SQRT_RULE, &[x], || {
            let root = self.emit(Opcode::Sqrt, RegType::F32, &[x]);
            let zero = self.f32(0.0);
            let negative = self.select(self.lt(x, zero), self.f32(f32::NAN), root);
            self.select(self.eq(x, zero), x, negative)
        })
    }

    /// 1/√x; ±∞ at ±0, NaN below zero.
    pub fn rsqrt(&self, x: Reg) -> Reg {
        self.noted(&RSQRT_RULE, &[x], || {
            let root = self.emit(Opcode::InverseSqrt, RegType::F32, &[x]);
            let zero = self.f32(0.0);
            let negative = self.select(self.lt(x, zero), self.f32(f32::NAN), root);
            self.select(self.eq(x, zero), self.copysign(self.f32(INF), x), negative)
        })
    }

    /// x << amount; 0 where the amount is negative or not below the width. The amount may be any integer type.
    pub fn shift_left(&self, x: Reg, amount: Reg) -> Reg {
        self.noted(&INT_RULE, &[x, amount], || {
            let (inside, by) = self.shift_amount(x, amount);
            self.select(inside, self.shl(x, by), self.number(x.ty(), 0))
        })
    }

    /// x >> amount, arithmetic for signed x; beyond the width 0, or −1 for a negative signed x.
    pub fn shift_right(&self, x: Reg, amount: Reg) -> Reg {
        self.noted(&INT_RULE, &[x, amount], || {
            let (inside, by) = self.shift_amount(x, amount);
            let last = self.u32(x.ty().bits() - 1);
            let beyond = if x.ty().is_signed() { self.shr(x, last) } else { self.number(x.ty(), 0) };
            self.select(inside, self.shr(x, by), beyond)
        })
    }

    /// Whether a shift amount is legal, and the amount as a legal U32. Compared unsigned, a negative amount is
    /// a huge one.
    fn shift_amount(&self, x: Reg, amount: Reg) -> (Reg, Reg) {
        if !x.ty().is_int() || !amount.ty().is_int() {
            let bad = self.mistyped("shift", &[x, amount]);
            return (self.bool(false), self.convert(bad, RegType::U32));
        }
        let unsigned = if amount.ty().bits() == 64 { RegType::U64 } else { RegType::U32 };
        let amount = self.bitcast(amount, unsigned);
        let inside = self.lt(amount, self.number(unsigned, x.ty().bits() as i64));
        let by = self.convert(amount, RegType::U32);
        (inside, self.and(by, self.u32(x.ty().bits() - 1)))
    }

    /// xⁿ of integers by squaring, wrapping; the exponent is any integer type. A negative exponent gives
    /// 1/xⁿ toward zero: ±1 for x = ±1, otherwise 0 (0 to a negative power too, as division by zero does).
    pub fn pow_int(&self, x: Reg, n: Reg) -> Reg {
        self.noted(&INT_RULE, &[x, n], || {
            let ty = x.ty();
            if !ty.is_int() || !n.ty().is_int() {
                return self.mistyped("pow_int", &[x, n]);
            }
            let one = self.number(ty, 1);
            let (mut result, mut square) = (one, x);
            let bits = n.ty().bits() - n.ty().is_signed() as u32;
            for i in 0..bits {
                let mask = self.number(n.ty(), 1i64 << i);
                let set = self.ne(self.and(n, mask), self.number(n.ty(), 0));
                result = self.select(set, self.mul(result, square), result);
                square = self.mul(square, square);
            }
            if !n.ty().is_signed() {
                return result;
            }
            let mut inverse = self.select(self.eq(x, one), one, self.number(ty, 0));
            if ty.is_signed() {
                let odd = self.ne(self.and(n, self.number(n.ty(), 1)), self.number(n.ty(), 0));
                let minus = self.number(ty, -1);
                inverse = self.select(self.eq(x, minus), self.select(odd, minus, one), inverse);
            }
            self.select(self.lt(n, self.number(n.ty(), 0)), inverse, result)
        })
    }
}
