//! Adam (Kingma, Ba 2015) and AdamW (Loshchilov, Hutter 2019).

use super::{Optimizer, Slot, UpdateCx, Updated, no_epsilon, outside, outside_shares};
use crate::held::in_f32;
use pumice_ir::Value;

/// g += decay·p (L2); m = β₁m + (1 − β₁)g; v = β₂v + (1 − β₂)g²; p −= rate·m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ) and
/// v̂ = v/(1 − β₂ᵗ).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// What m keeps of itself.
    pub beta1: f64,
    /// What v keeps of itself.
    pub beta2: f64,
    /// ε, above 0: a gradient that was always 0 is divided by it alone.
    pub epsilon: f64,
    /// Weight decay, added to gradients.
    pub weight_decay: f64,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
    }
}

/// As [`Adam`], with decoupled decay: p −= rate·decay·p first, and nothing of it in the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// What m keeps of itself.
    pub beta1: f64,
    /// What v keeps of itself.
    pub beta2: f64,
    /// ε, above 0: a gradient that was always 0 is divided by it alone.
    pub epsilon: f64,
    /// Weight decay, taken off params.
    pub weight_decay: f64,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }
    }
}

/// What both share.
struct Moments {
    beta1: f64,
    beta2: f64,
    epsilon: f64,
}

impl Moments {
    fn slots(param: &[u64]) -> Vec<Slot> {
        vec![Slot::new("m", param), Slot::new("v", param)]
    }

    fn mistake(&self, weight_decay: f64) -> Option<String> {
        let betas = [("beta1", self.beta1), ("beta2", self.beta2)];
        let decay = || outside(&[("weight_decay", weight_decay)], 0.0, f64::INFINITY);
        outside_shares(&betas).or_else(|| no_epsilon(self.epsilon)).or_else(decay)
    }

    /// 1/(1 − β₁ᵗ) and 1/√(1 − β₂ᵗ).
    fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
        let [first, second] = [self.beta1, self.beta2].map(|beta| 1.0 - in_f32(beta).powf(t as f64));
        vec![("of_m", 1.0 / first), ("of_v", 1.0 / second.sqrt())]
    }

    fn update(&self, cx: &UpdateCx<'_>, param: Value, gradient: Value) -> Updated {
        let g = cx.g;
        let m = cx.mean(self.beta1, cx.slot(0), gradient);
        let v = cx.mean(self.beta2, cx.slot(1), g.square(gradient));
        let root = cx.plus(g.mul(g.sqrt(v), cx.number("of_v")), self.epsilon);
        let way = g.div(g.mul(m, cx.number("of_m")), root);
        Updated { param: g.sub(param, g.mul(way, cx.rate)), slots: vec![m, v] }
    }
}

macro_rules! adam {
    ($Name:ident, $text:literal, |$cx:ident| $param:expr, $gradient:expr) => {
        impl $Name {
            fn moments(&self) -> Moments {
                Moments { beta1: self.beta1, beta2: self.beta2, epsilon: self.epsilon }
            }
        }

        impl Optimizer for $Name {
            fn name(&self) -> &'static str {
                $text
            }

            fn mistake(&self) -> Option<String> {
                self.moments().mistake(self.weight_decay)
            }

            fn weight_decay(&self) -> f64 {
                self.weight_decay
            }

            fn slots(&self, param: &[u64]) -> Vec<Slot> {
                Moments::slots(param)
            }

            fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
                self.moments().numbers(t)
            }

            fn update(&self, $cx: &UpdateCx<'_>) -> Updated {
                self.moments().update($cx, $param, $gradient)
            }
        }
    };
}

adam!(Adam, "Adam", |cx| cx.param, cx.gradient_with_decay());
adam!(AdamW, "AdamW", |cx| cx.decayed_param(), cx.gradient);
