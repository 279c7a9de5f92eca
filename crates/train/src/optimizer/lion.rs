//! Lion (Chen et al. 2023).

use super::{Optimizer, Slot, UpdateCx, Updated, outside, outside_shares};

/// p −= rate·(sign(β₁m + (1 − β₁)g) + decay·p); m = β₂m + (1 − β₂)g.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lion {
    /// What the direction has of m.
    pub beta1: f64,
    /// What m keeps of itself.
    pub beta2: f64,
    /// Weight decay, taken off params.
    pub weight_decay: f64,
}

impl Default for Lion {
    fn default() -> Lion {
        Lion { beta1: 0.9, beta2: 0.99, weight_decay: 0.0 }
    }
}

impl Optimizer for Lion {
    fn name(&self) -> &'static str {
        "Lion"
    }

    fn mistake(&self) -> Option<String> {
        let betas = [("beta1", self.beta1), ("beta2", self.beta2)];
        outside_shares(&betas).or_else(|| outside(&[("weight_decay", self.weight_decay)], 0.0, f64::INFINITY))
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        vec![Slot::new("m", param)]
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let g = cx.g;
        let way = g.sign(cx.mean(self.beta1, cx.slot(0), cx.gradient));
        let m = cx.mean(self.beta2, cx.slot(0), cx.gradient);
        Updated { param: g.sub(cx.decayed_param(), g.mul(way, cx.rate)), slots: vec![m] }
    }
}
