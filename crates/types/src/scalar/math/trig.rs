//! sin, cos, tan, for every finite argument.
//!
//! |x|·2/π is formed in fixed point from 96 bits of 2/π chosen by the exponent of x: the two top bits of the
//! product are the quadrant, the rest is a fraction good to 62 bits, far more than any f32 can cancel. Integer
//! arithmetic, so no assumption about rounding is made.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::Function;
use super::NAN;

/// 2/π in binary, most significant word first, after 32 zero bits.
const TWO_OVER_PI: [u32; 8] =
    [0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];
/// π/2 as a sum of two floats.
const HALF_PI: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];
/// (sin r − r)/r³ in r², |r| ≤ π/4, to 2⁻²⁷ of sin r.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_186, -0.000_195_176_98];
/// (cos r − 1 + r²/2)/r⁴ in r², to 2⁻³³ of cos r.
const COS: [f32; 3] = [0.041_666_646, -0.001_388_731, 2.443_232_2e-5];

const SIN_RULE: Function = Function::one("sin", |b, x, _, t| b.mul(t, b.cos(x)));
const COS_RULE: Function = Function::one("cos", |b, x, _, t| b.neg(b.mul(t, b.sin(x))));
/// 1 + tan².
const TAN_RULE: Function = Function::one("tan", |b, _, y, t| b.mul(t, b.fma(y, y, b.f32(1.0))));

/// |x| reduced: the quadrant (U32, only its two low bits count) and sine and cosine of the rest.
struct Turn {
    quadrant: Reg,
    sin: Reg,
    cos: Reg,
}

impl ScalarBuilder {
    /// sin x; NaN at ±∞.
    pub fn sin(&self, x: Reg) -> Reg {
        self.noted(&SIN_RULE, &[x], || {
            let t = self.turn(x);
            let odd = self.bit(t.quadrant, 0);
            let y = self.select(odd, t.cos, t.sin);
            let y = self.negate_if(self.bit(t.quadrant, 1), y);
            self.trig_special(x, self.negate_if(self.sign_bit(x), y))
        })
    }

    /// cos x; NaN at ±∞.
    pub fn cos(&self, x: Reg) -> Reg {
        self.noted(&COS_RULE, &[x], || {
            let t = self.turn(x);
            let odd = self.bit(t.quadrant, 0);
            let y = self.select(odd, t.sin, t.cos);
            let flip = self.xor(odd, self.bit(t.quadrant, 1));
            self.trig_special(x, self.negate_if(flip, y))
        })
    }

    /// tan x; NaN at ±∞.
    pub fn tan(&self, x: Reg) -> Reg {
        self.noted(&TAN_RULE, &[x], || {
            let t = self.turn(x);
            let odd = self.bit(t.quadrant, 0);
            let above = self.select(odd, t.cos, t.sin);
            let below = self.select(odd, t.sin, t.cos);
            let flip = self.xor(odd, self.sign_bit(x));
            self.trig_special(x, self.negate_if(flip, self.div_raw(above, below)))
        })
    }

    fn turn(&self, x: Reg) -> Turn {
        let magnitude = self.magnitude_bits(x);
        let (n, fraction) = self.quarter_turns(magnitude);
        let high = self.mul_precise(fraction, self.f32(HALF_PI[0]));
        let angle = self.fma(fraction, self.f32(HALF_PI[1]), high);
        let small = self.le(magnitude, self.u32(std::f32::consts::FRAC_PI_4.to_bits()));
        let r = self.select(small, self.abs(x), angle);
        let quadrant = self.select(small, self.u32(0), n);
        let u = self.mul(r, r);
        let sin = self.fma(self.mul(r, u), self.poly(u, &SIN), r);
        let cos = self.fma(self.mul(u, u), self.poly(u, &COS), self.fma(u, self.f32(-0.5), self.f32(1.0)));
        Turn { quadrant, sin, cos }
    }

    /// |x|·2/π of a finite |x| > ½, by its bits: the nearest integer modulo 4, and the rest in −½..½.
    fn quarter_turns(&self, magnitude: Reg) -> (Reg, Reg) {
        let u = |v: u32| self.u32(v);
        let (top, middle) = self.times_two_over_pi(magnitude);
        // Two integer bits, then the fraction as 64 bits; from ½ on it counts as negative.
        let f_hi = self.or(self.shl(top, u(2)), self.shr(middle, u(30)));
        let f_lo = self.shl(middle, u(2));
        let up = self.shr(f_hi, u(31));
        let n = self.add(self.shr(top, u(30)), up);
        let ones = self.sub(u(0), up);
        let fraction = self.fraction(self.xor(f_hi, ones), self.xor(f_lo, ones));
        (n, self.negate_if(self.ne(up, u(0)), fraction))
    }

    /// The upper words of the 96 bits of |x|·2/π modulo 4: its bits from that of 2 on.
    fn times_two_over_pi(&self, magnitude: Reg) -> (Reg, Reg) {
        let u = |v: u32| self.u32(v);
        let mantissa = self.or(self.and(magnitude, u(0x007f_ffff)), u(0x0080_0000));
        // |x| = m·2^(e−150); bits of 2/π above 2^(152−e) only add multiples of 4.
        let position = self.sub(self.shr(magnitude, u(23)), u(120));
        let window = self.two_over_pi(position);
        // m·window modulo 2⁹⁶; of its lowest word only the carry is wanted.
        let low = self.mul(mantissa, window[1]);
        let middle = self.add(low, self.mul_hi(mantissa, window[2]));
        let carry = self.convert(self.lt(middle, low), RegType::U32);
        let top = self.add(self.mul(mantissa, window[0]), self.mul_hi(mantissa, window[1]));
        (self.add(top, carry), middle)
    }

    /// 64 bits after the point as a float: three exact floats of 23, 24 and 16 bits, added from the smallest.
    fn fraction(&self, high: Reg, low: Reg) -> Reg {
        let u = |v: u32| self.u32(v);
        let float =
            |bits, unit: i32| self.mul_precise(self.convert(bits, RegType::F32), self.f32(2f32.powi(unit)));
        let second = self.or(self.shl(self.and(high, u(0xff)), u(16)), self.shr(low, u(16)));
        let tail = self.add(float(second, -48), float(self.and(low, u(0xffff)), -64));
        self.add(float(self.shr(high, u(8)), -24), tail)
    }

    /// The 96 bits of the table from bit `position` (6..=134) on, as three words.
    fn two_over_pi(&self, position: Reg) -> [Reg; 3] {
        let index = self.shr(position, self.u32(5));
        let offset = self.and(position, self.u32(31));
        let word = |j: usize| {
            (1..5).fold(self.u32(TWO_OVER_PI[j]), |w, i| {
                self.select(self.eq(index, self.u32(i as u32)), self.u32(TWO_OVER_PI[i + j]), w)
            })
        };
        let words = [word(0), word(1), word(2), word(3)];
        // A shift by 32 − offset in two steps, so that offset 0 is legal.
        let rest = self.sub(self.u32(31), offset);
        let joined = |hi, lo| {
            let below = self.shr(self.shr(lo, self.u32(1)), rest);
            self.or(self.shl(hi, offset), below)
        };
        [joined(words[0], words[1]), joined(words[1], words[2]), joined(words[2], words[3])]
    }

    fn bit(&self, word: Reg, i: u32) -> Reg {
        self.ne(self.and(word, self.u32(1 << i)), self.u32(0))
    }

    fn negate_if(&self, c: Reg, y: Reg) -> Reg {
        self.select(c, self.neg(y), y)
    }

    fn trig_special(&self, x: Reg, y: Reg) -> Reg {
        self.select(self.not_finite(x), self.f32(NAN), y)
    }
}
