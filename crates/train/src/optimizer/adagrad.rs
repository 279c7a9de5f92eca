//! Adagrad (Duchi, Hazan, Singer 2011).

use super::{Optimizer, Slot, UpdateCx, Updated, no_epsilon, outside};

/// g += decay·p (L2); h += g²; p −= rate/(1 + (t − 1)·rate_decay)·g/(√h + ε).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adagrad {
    /// How fast the rate falls by itself.
    pub rate_decay: f64,
    /// ε, above 0: a gradient that was always 0 is divided by it alone.
    pub epsilon: f64,
    /// Weight decay, added to gradients.
    pub weight_decay: f64,
}

impl Default for Adagrad {
    fn default() -> Adagrad {
        Adagrad { rate_decay: 0.0, epsilon: 1e-10, weight_decay: 0.0 }
    }
}

impl Optimizer for Adagrad {
    fn name(&self) -> &'static str {
        "Adagrad"
    }

    fn mistake(&self) -> Option<String> {
        let Adagrad { rate_decay, epsilon, weight_decay } = *self;
        let numbers = [("rate_decay", rate_decay), ("weight_decay", weight_decay)];
        no_epsilon(epsilon).or_else(|| outside(&numbers, 0.0, f64::INFINITY))
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        vec![Slot::new("squares", param)]
    }

    fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
        if self.rate_decay == 0.0 {
            return Vec::new();
        }
        vec![("share", 1.0 / (1.0 + t.saturating_sub(1) as f64 * self.rate_decay))]
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let (g, gradient) = (cx.g, cx.gradient_with_decay());
        let squares = g.add(cx.slot(0), g.square(gradient));
        let way = g.div(gradient, cx.plus(g.sqrt(squares), self.epsilon));
        let rate = if self.rate_decay == 0.0 { cx.rate } else { g.mul(cx.rate, cx.number("share")) };
        Updated { param: g.sub(cx.param, g.mul(way, rate)), slots: vec![squares] }
    }
}
