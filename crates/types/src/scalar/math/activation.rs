//! Activations made of one exponential: sigmoid and its family.
//!
//! All are written in t = e^(−|x|) ≤ 1, so neither side overflows. At −∞ the products that OPS defines as −∞·0
//! are NaN.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;

/// 2·√(2/π)·log₂e with 27 bits after the point.
const GELU_LINEAR: u32 = (2.302_208_198_144_325 * (1u64 << 27) as f64) as u32;
/// 0.044715 times that with 35 bits after the point.
const GELU_CUBIC: u32 = (0.102_943_239_580_023_5 * (1u64 << 35) as f64) as u32;

impl ScalarBuilder {
    /// 1/(1 + e⁻ˣ).
    pub fn sigmoid(&self, x: Reg) -> Reg {
        let one = self.f32(1.0);
        let t = self.decay(x);
        let numerator = self.select(self.lt(x, self.f32(0.0)), t, one);
        self.div_raw(numerator, self.add(t, one))
    }

    /// ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|)).
    pub fn softplus(&self, x: Reg) -> Reg {
        let zero = self.f32(0.0);
        let positive = self.select(self.gt(x, zero), x, zero);
        self.add(positive, self.log1p_unit(self.decay(x)))
    }

    /// ln sigmoid x = −softplus(−x).
    pub fn log_sigmoid(&self, x: Reg) -> Reg {
        self.neg(self.softplus(self.neg(x)))
    }

    /// x·sigmoid x.
    pub fn silu(&self, x: Reg) -> Reg {
        self.mul(x, self.sigmoid(x))
    }

    /// x·sigmoid(αx). What rounding αx loses would be many units of e^(αx) in the tail: it is kept.
    pub fn swish(&self, x: Reg, alpha: f32) -> Reg {
        if alpha == 1.0 {
            return self.silu(x);
        }
        let product = self.two_product(x, self.f32(alpha));
        let size = self.abs(product.hi);
        let rest = self.copysign(product.lo, self.xor_signs(product.hi, product.lo));
        let far = self.or(self.gt(size, self.f32(104.0)), self.not_finite(product.hi));
        let rest = self.select(far, self.f32(0.0), rest);
        let (r, n) = self.exp_reduce(self.neg(self.limit(size, 0.0, 104.0)), Some(self.neg(rest)));
        self.gate(x, self.lt(product.hi, self.f32(0.0)), self.scale2(self.exp_small(r), n))
    }

    /// ½x(1 + tanh u) with u = √(2/π)(x + 0.044715x³), which is x·sigmoid(2u).
    ///
    /// 2u·log₂e is formed in fixed point, with 23 bits after the point: as an f32 it would be off by up to 2⁻¹⁸ in the
    /// tail, which is 30 units of the result.
    pub fn gelu_tanh(&self, x: Reg) -> Reg {
        // From 12 on the tail is 0 in f32. 28 bits after the point.
        let size = self.limit(self.abs(x), 0.0, 12.0);
        let a = self.convert_raw(self.mul_precise(size, self.f32(2f32.powi(28))), RegType::U32);
        // x² with 24 bits after the point; c₀ + c₁x² with 27.
        let square = self.mul_hi(a, a);
        let inner = self.add(self.mul_hi(square, self.u32(GELU_CUBIC)), self.u32(GELU_LINEAR));
        let t = self.mul_hi(a, inner);
        let n = self.shr(self.add(t, self.u32(1 << 22)), self.u32(23));
        let fraction = self.bitcast(self.sub(self.shl(n, self.u32(23)), t), RegType::I32);
        let r = self.mul_precise(self.convert_raw(fraction, RegType::F32), self.f32(2f32.powi(-23)));
        let n = self.neg(self.bitcast(n, RegType::I32));
        self.gate(x, self.lt(x, self.f32(0.0)), self.scale2(self.exp2_small(r), n))
    }

    /// x/(1 + t), or x·t/(1 + t) where `negative`.
    fn gate(&self, x: Reg, negative: Reg, t: Reg) -> Reg {
        let one = self.f32(1.0);
        let numerator = self.select(negative, t, one);
        self.mul(x, self.div_raw(numerator, self.add(t, one)))
    }

    /// A float whose sign is that of x·y.
    fn xor_signs(&self, x: Reg, y: Reg) -> Reg {
        let [x, y] = [x, y].map(|v| self.bitcast(v, RegType::U32));
        self.bitcast(self.xor(x, y), RegType::F32)
    }

    /// x·tanh(softplus x). With e = eˣ, tanh ln(1 + e) = n/(n + 2) where n = e(e + 2); for x ≥ 0 multiplied
    /// through by t².
    pub fn mish(&self, x: Reg) -> Reg {
        let two = self.f32(2.0);
        let t = self.decay(x);
        let positive = self.fma(t, two, self.f32(1.0));
        let negative = self.mul(t, self.add(t, two));
        let is_negative = self.lt(x, self.f32(0.0));
        let n = self.select(is_negative, negative, positive);
        let rest = self.select(is_negative, two, self.mul(self.mul(t, t), two));
        self.mul(x, self.div_raw(n, self.add(n, rest)))
    }

    /// e^(−|x|).
    fn decay(&self, x: Reg) -> Reg {
        self.exp(self.neg(self.abs(x)))
    }
}
