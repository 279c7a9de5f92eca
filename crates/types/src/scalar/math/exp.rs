//! exp, exp2, expm1.
//!
//! eˣ = 2ⁿ·eʳ with n = round(x/ln 2) and |r| ≤ ½ ln 2; eʳ is a polynomial and 2ⁿ is built from bits, in two
//! factors, so that results up to the ends of the range need no special case.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::Function;

/// 1.5·2²³: adding it rounds to an integer, which then lies in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 to 15 bits: n·LN2_HI is exact for |n| < 512.
pub(super) const LN2_HI: f32 = 0.693_145_75;
/// ln 2 − LN2_HI.
pub(super) const LN2_LO: f32 = 1.428_606_8e-6;
/// (eʳ − 1 − r)/r² on |r| ≤ 0.3468, to 2⁻²⁸ of eʳ.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_17, 0.041_668_106, 0.008_369_133, 0.001_383_650_1];
/// The same to 2⁻³¹ of eʳ − 1.
const EXPM1: [f32; 6] = [0.5, 0.166_666_66, 0.041_666_467, 0.008_333_643, 0.001_393_505_3, 0.000_196_643_01];
/// (2ʳ − 1)/r on |r| ≤ ½, to 2⁻²⁷ of 2ʳ.
const EXP2: [f32; 6] =
    [0.693_147_24, 0.240_226_55, 0.055_502_78, 0.009_617_11, 0.001_341_616_5, 0.000_158_001_54];

const EXP_RULE: Function = Function::one("exp", |b, _, y, t| b.mul(t, y));
const EXP2_RULE: Function =
    Function::one("exp2", |b, _, y, t| b.mul(t, b.mul(y, b.f32(std::f32::consts::LN_2))));
const EXPM1_RULE: Function = Function::one("expm1", |b, x, _, t| b.mul(t, b.exp(x)));

impl ScalarBuilder {
    /// eˣ.
    pub fn exp(&self, x: Reg) -> Reg {
        self.noted(&EXP_RULE, &[x], || {
            let (r, n) = self.exp_reduce(self.limit(x, -104.0, 89.0), None);
            self.scale2(self.exp_small(r), n)
        })
    }

    /// 2ˣ; exact for integer x.
    pub fn exp2(&self, x: Reg) -> Reg {
        self.noted(&EXP2_RULE, &[x], || {
            let x = self.limit(x, -151.0, 129.0);
            let (k, n) = self.nearest(x);
            self.scale2(self.exp2_small(self.sub_precise(x, k)), n)
        })
    }

    /// eˣ − 1, accurate near zero.
    pub fn expm1(&self, x: Reg) -> Reg {
        self.noted(&EXPM1_RULE, &[x], || {
            let (r, n) = self.exp_reduce(self.limit(x, -18.0, 89.0), None);
            let p = self.fma(self.mul(r, r), self.poly(r, &EXPM1), r);
            // 2ⁿ(p + 1) − 1 = 2(tp + (t − ½)) with t = 2ⁿ⁻¹, which exists up to n = 128.
            let t = self.power_of_two(self.sub(n, self.i32(1)));
            let half = self.fma(t, p, self.sub_precise(t, self.f32(0.5)));
            let tiny = self.lt(self.abs(x), self.f32(1e-8));
            self.select(tiny, x, self.mul(half, self.f32(2.0)))
        })
    }

    /// x/ln 2 to the nearest integer n, and r = (x + tail) − n·ln 2. x in −200..200 or NaN.
    pub(super) fn exp_reduce(&self, x: Reg, tail: Option<Reg>) -> (Reg, Reg) {
        let (k, n) = self.nearest(self.mul_precise(x, self.f32(std::f32::consts::LOG2_E)));
        let high = self.sub_precise(x, self.mul_precise(k, self.f32(LN2_HI)));
        let low = self.mul_precise(k, self.f32(LN2_LO));
        let low = tail.map_or(low, |t| self.sub_precise(low, t));
        (self.sub_precise(high, low), n)
    }

    /// The nearest integer to |x| < 2²², as float and as I32. For NaN: NaN and some I32.
    pub(super) fn nearest(&self, x: Reg) -> (Reg, Reg) {
        let shifted = self.add_precise(x, self.f32(ROUNDER));
        let n = self.sub(self.bitcast(shifted, RegType::I32), self.i32(ROUNDER.to_bits() as i32));
        (self.sub_precise(shifted, self.f32(ROUNDER)), n)
    }

    /// eʳ for |r| ≤ ½ ln 2.
    pub(super) fn exp_small(&self, r: Reg) -> Reg {
        let p = self.fma(self.mul(r, r), self.poly(r, &EXP), r);
        self.add(p, self.f32(1.0))
    }

    /// 2ʳ for |r| ≤ ½.
    pub(super) fn exp2_small(&self, r: Reg) -> Reg {
        self.fma(r, self.poly(r, &EXP2), self.f32(1.0))
    }

    /// 2ⁿ for an I32 n in −126..=127.
    pub(super) fn power_of_two(&self, n: Reg) -> Reg {
        let bits = self.shl(self.add(n, self.i32(127)), self.u32(23));
        self.bitcast(bits, RegType::F32)
    }

    /// p·2ⁿ for an I32 n in −252..=254.
    pub(super) fn scale2(&self, p: Reg, n: Reg) -> Reg {
        let half = self.shr(n, self.u32(1));
        let rest = self.sub(n, half);
        self.mul_precise(self.mul_precise(p, self.power_of_two(half)), self.power_of_two(rest))
    }
}
