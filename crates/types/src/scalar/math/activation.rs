//! Activations made of one exponential: sigmoid and its family.
//!
//! All are written in t = e^(−|x|) ≤ 1, so neither side overflows. At −∞ the products that OPS defines as −∞·0
//! are NaN.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::opcode::RegType;
use super::super::tangent::Function;

/// 2·√(2/π)·log₂e with 27 bits after the point.
const GELU_LINEAR: u32 = (2.302_208_198_144_325 * (1u64 << 27) as f64) as u32;
/// 0.044715 times that with 35 bits after the point.
const GELU_CUBIC: u32 = (0.102_943_239_580_023_5 * (1u64 << 35) as f64) as u32;

/// σ(1 − σ).
const SIGMOID_RULE: Function =
    Function::one("sigmoid", |b, _, y, t| b.mul(t, b.mul(y, b.sub(b.f32(1.0), y))));
const SOFTPLUS_RULE: Function = Function::one("softplus", |b, x, _, t| b.mul(t, b.sigmoid(x)));
const LOG_SIGMOID_RULE: Function = Function::one("log_sigmoid", |b, x, _, t| b.mul(t, b.sigmoid(b.neg(x))));
const SILU_RULE: Function = Function::one("silu", |b, x, _, t| b.mul(t, gated(b, b.sigmoid(x), x)));

const SWISH_RULE: Function = Function::any("swish", |b, p| {
    let scaled = b.mul(p.operand(0), p.operand(1));
    p.tangent(0).map(|t| b.mul(t, gated(b, b.sigmoid(scaled), scaled)))
});

/// From here on a sigmoid is 0 or 1 in f32.
const SATURATED: f32 = 110.0;

/// The derivative of x·σ(u) for u = αx: σ + uσ(1 − σ), where ∞ times 0 is 0.
fn gated(b: &ScalarBuilder, s: Reg, u: Reg) -> Reg {
    let u = b.clamp(u, b.f32(-SATURATED), b.f32(SATURATED));
    b.fma(b.mul(u, s), b.sub(b.f32(1.0), s), s)
}

/// With 2u = 2√(2/π)(x + 0.044715x³) and s = σ(2u): s + xs(1 − s)·(2u)′.
const GELU_TANH_RULE: Function = Function::one("gelu_tanh", |b, x, _, t| {
    // From 12 on s is 0 or 1 in f32.
    let x = b.clamp(x, b.f32(-12.0), b.f32(12.0));
    let (one, square) = (b.f32(1.0), b.mul(x, x));
    let slope = b.f32((8.0 / std::f64::consts::PI).sqrt() as f32);
    let s = b.sigmoid(b.mul(b.mul(x, slope), b.fma(square, b.f32(0.044_715), one)));
    let inner = b.mul(slope, b.fma(square, b.f32(0.134_145), one));
    b.mul(t, b.fma(b.mul(b.mul(x, inner), s), b.sub(one, s), s))
});

/// With T = tanh softplus x: T + xσ(1 − T²).
const MISH_RULE: Function = Function::one("mish", |b, x, _, t| {
    let x = b.clamp(x, b.f32(-SATURATED), b.f32(SATURATED));
    let one = b.f32(1.0);
    let tanh = b.tanh(b.softplus(x));
    let bend = b.mul(b.sub(one, tanh), b.add(one, tanh));
    b.mul(t, b.fma(b.mul(x, b.sigmoid(x)), bend, tanh))
});

impl ScalarBuilder {
    /// 1/(1 + e⁻ˣ).
    pub fn sigmoid(&self, x: Reg) -> Reg {
        self.noted(&SIGMOID_RULE, &[x], || {
            let one = self.f32(1.0);
            let t = self.decay(x);
            let numerator = self.select(self.lt(x, self.f32(0.0)), t, one);
            self.div_raw(numerator, self.add(t, one))
        })
    }

    /// ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|)).
    pub fn softplus(&self, x: Reg) -> Reg {
        self.noted(&SOFTPLUS_RULE, &[x], || {
            let zero = self.f32(0.0);
            let positive = self.select(self.gt(x, zero), x, zero);
            self.add(positive, self.log1p_unit(self.decay(x)))
        })
    }

    /// ln sigmoid x = −softplus(−x).
    pub fn log_sigmoid(&self, x: Reg) -> Reg {
        self.noted(&LOG_SIGMOID_RULE, &[x], || self.neg(self.softplus(self.neg(x))))
    }

    /// x·sigmoid x.
    pub fn silu(&self, x: Reg) -> Reg {
        self.noted(&SILU_RULE, &[x], || self.mul(x, self.sigmoid(x)))
    }

    /// x·sigmoid(αx). What rounding αx loses would be many units of e^(αx) in the tail: it is kept.
    pub fn swish(&self, x: Reg, alpha: f32) -> Reg {
        self.noted(&SWISH_RULE, &[x, self.f32(alpha)], || {
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
        })
    }

    /// ½x(1 + tanh u) with u = √(2/π)(x + 0.044715x³), which is x·sigmoid(2u).
    ///
    /// 2u·log₂e is formed in fixed point, with 23 bits after the point: as an f32 it would be off by up to 2⁻¹⁸ in the
    /// tail, which is 30 units of the result.
    pub fn gelu_tanh(&self, x: Reg) -> Reg {
        self.noted(&GELU_TANH_RULE, &[x], || {
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
        })
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
        self.noted(&MISH_RULE, &[x], || {
            let two = self.f32(2.0);
            let t = self.decay(x);
            let positive = self.fma(t, two, self.f32(1.0));
            let negative = self.mul(t, self.add(t, two));
            let is_negative = self.lt(x, self.f32(0.0));
            let n = self.select(is_negative, negative, positive);
            let rest = self.select(is_negative, two, self.mul(self.mul(t, t), two));
            self.mul(x, self.div_raw(n, self.add(n, rest)))
        })
    }

    /// e^(−|x|).
    fn decay(&self, x: Reg) -> Reg {
        self.exp(self.neg(self.abs(x)))
    }
}
