//! Error-free transformations: a value as the unevaluated sum of two floats.
//!
//! In: floats of any size (products must not overflow). Out: [`Double`]. All instructions are precise, and
//! products are formed from 12-bit halves, so neither contraction nor a fused `Fma` changes a bit.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;

/// hi + lo with |lo| at most half an ulp of hi (after a sum), or about that.
#[derive(Clone, Copy)]
pub(super) struct Double {
    pub(super) hi: Reg,
    pub(super) lo: Reg,
}

impl ScalarBuilder {
    /// a + b exactly.
    pub(super) fn two_sum(&self, a: Reg, b: Reg) -> Double {
        let hi = self.add_precise(a, b);
        let b_part = self.sub_precise(hi, a);
        let a_part = self.sub_precise(hi, b_part);
        let lo = self.add_precise(self.sub_precise(a, a_part), self.sub_precise(b, b_part));
        Double { hi, lo }
    }

    /// a + b exactly, for |a| ≥ |b|.
    pub(super) fn fast_two_sum(&self, a: Reg, b: Reg) -> Double {
        let hi = self.add_precise(a, b);
        Double { hi, lo: self.sub_precise(b, self.sub_precise(hi, a)) }
    }

    /// x as a sum of two floats of 12 bits each, by the bits.
    pub(super) fn split(&self, x: Reg) -> Double {
        let upper = self.and(self.bitcast(x, RegType::U32), self.u32(0xffff_f000));
        let hi = self.bitcast(upper, RegType::F32);
        Double { hi, lo: self.sub_precise(x, hi) }
    }

    /// a · b exactly, but for underflow.
    pub(super) fn two_product(&self, a: Reg, b: Reg) -> Double {
        let hi = self.mul_precise(a, b);
        let (a, b) = (self.split(a), self.split(b));
        let e = self.sub_precise(self.mul_precise(a.hi, b.hi), hi);
        let e = self.add_precise(e, self.mul_precise(a.hi, b.lo));
        let e = self.add_precise(e, self.mul_precise(a.lo, b.hi));
        Double { hi, lo: self.add_precise(e, self.mul_precise(a.lo, b.lo)) }
    }
}
