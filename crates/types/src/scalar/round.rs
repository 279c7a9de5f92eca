//! Rounding F32 registers to the values of F16 and BF16, to nearest even, by integer operations alone.
//!
//! In: any f32. Out: the nearest value of the narrow type, as f32; overflow gives infinity, NaN stays NaN, zeros
//! keep their sign. No float arithmetic, so a device that flushes subnormals rounds f16-subnormals all the same.

use super::builder::{Reg, ScalarBuilder};
use super::cast::CAST_RULE;
use super::opcode::RegType;

impl ScalarBuilder {
    /// x rounded to the nearest f16 value.
    pub fn round_f16(&self, x: Reg) -> Reg {
        self.noted(&CAST_RULE, &[x], || {
            if x.ty() != RegType::F32 {
                return self.mistyped("round_f16", &[x]);
            }
            let bits = self.bitcast(x, RegType::U32);
            let magnitude = self.magnitude_bits(x);
            // Normal f16: keep 10 of the 23 fraction bits. From 65520 = 0x477ff000 the result is infinity.
            let normal = self.drop_bits(magnitude, 13);
            let overflow = self.ge(magnitude, self.u32(0x477f_f000));
            let large = self.select(overflow, self.u32(0x7f80_0000), normal);
            let subnormal = self.round_f16_subnormal(magnitude);
            let is_subnormal = self.lt(magnitude, self.u32(0x3880_0000));
            let finite = self.select(is_subnormal, subnormal, large);
            let is_nan = self.gt(magnitude, self.u32(0x7f80_0000));
            let rounded = self.select(is_nan, self.u32(0x7fc0_0000), finite);
            let sign = self.and(bits, self.u32(0x8000_0000));
            self.bitcast(self.or(rounded, sign), RegType::F32)
        })
    }

    /// Below 2⁻¹⁴ the f16 values are the multiples of 2⁻²⁴: x = m·2^(e−150) is k·2⁻²⁴ with k = m >> (126 − e),
    /// rounded. Returns the bits of k·2⁻²⁴. For e ≤ 101 every x is below half a unit and the shift gives 0.
    fn round_f16_subnormal(&self, magnitude: Reg) -> Reg {
        let exponent = self.shr(magnitude, self.u32(23));
        let mantissa = self.or(self.and(magnitude, self.u32(0x007f_ffff)), self.u32(0x0080_0000));
        let shift = self.sub(self.u32(126), exponent);
        // Only exponents up to 112 matter, so the shift is 14 or more; 25 and above give 0 or a tie with 0.
        let in_range = self.and(self.ge(shift, self.u32(14)), self.le(shift, self.u32(30)));
        let shift = self.select(in_range, shift, self.u32(30));
        let odd = self.and(self.shr(mantissa, shift), self.u32(1));
        let half = self.shl(self.u32(1), self.sub(shift, self.u32(1)));
        let k = self.shr(self.add(self.add(mantissa, self.sub(half, self.u32(1))), odd), shift);
        let value = self.mul(self.convert_raw(k, RegType::F32), self.f32(2f32.powi(-24)));
        self.bitcast(value, RegType::U32)
    }

    /// x rounded to the nearest bf16 value: the upper half of its bits.
    pub fn round_bf16(&self, x: Reg) -> Reg {
        self.noted(&CAST_RULE, &[x], || {
            if x.ty() != RegType::F32 {
                return self.mistyped("round_bf16", &[x]);
            }
            let bits = self.bitcast(x, RegType::U32);
            let rounded = self.drop_bits(bits, 16);
            let quiet = self.and(self.or(bits, self.u32(0x0040_0000)), self.u32(0xffff_0000));
            self.bitcast(self.select(self.is_nan(x), quiet, rounded), RegType::F32)
        })
    }

    /// Clears the lowest `n` bits, rounding to nearest even; a carry runs into the exponent, as it should.
    fn drop_bits(&self, bits: Reg, n: u32) -> Reg {
        let odd = self.and(self.shr(bits, self.u32(n)), self.u32(1));
        let up = self.add(self.u32((1 << (n - 1)) - 1), odd);
        self.and(self.add(bits, up), self.u32(!0 << n))
    }
}
