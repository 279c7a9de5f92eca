//! Activations made of one exponential: sigmoid and its family.
//!
//! All are written in t = e^(−|x|) ≤ 1, so neither side overflows. At −∞ the products that OPS defines as −∞·0
//! are NaN.

use super::super::builder::{Reg, ScalarBuilder};

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

    /// x·sigmoid(αx).
    pub fn swish(&self, x: Reg, alpha: f32) -> Reg {
        self.mul(x, self.sigmoid(self.mul(x, self.f32(alpha))))
    }

    /// ½x(1 + tanh u) with u = √(2/π)(x + 0.044715x³), which is x·sigmoid(2u).
    pub fn gelu_tanh(&self, x: Reg) -> Reg {
        let cubic = self.fma(self.mul(x, x), self.f32(0.044_715), self.f32(1.0));
        let twice_u = self.mul(self.mul(x, cubic), self.f32(1.595_769));
        self.mul(x, self.sigmoid(twice_u))
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
