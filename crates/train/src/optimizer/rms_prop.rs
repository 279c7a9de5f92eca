//! RMSprop (Hinton 2012), as PyTorch has it.

use super::{Optimizer, Slot, UpdateCx, Updated, no_epsilon, outside, outside_shares};

/// g += decay·p (L2); v = αv + (1 − α)g²; centred a = αa + (1 − α)g and v − a² in v's place, never below 0; then
/// p −= rate·g/(√v + ε), or with momentum b = momentum·b + g/(√v + ε), p −= rate·b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsProp {
    /// What means keep of themselves.
    pub alpha: f64,
    /// ε, above 0: a gradient that was always 0 is divided by it alone.
    pub epsilon: f64,
    /// What the velocity keeps of itself.
    pub momentum: f64,
    /// Whether the mean gradient's square is taken off.
    pub centred: bool,
    /// Weight decay, added to gradients.
    pub weight_decay: f64,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { alpha: 0.99, epsilon: 1e-8, momentum: 0.0, centred: false, weight_decay: 0.0 }
    }
}

impl Optimizer for RmsProp {
    fn name(&self) -> &'static str {
        "RMSprop"
    }

    fn mistake(&self) -> Option<String> {
        let RmsProp { alpha, epsilon, momentum, weight_decay, .. } = *self;
        let numbers = [("momentum", momentum), ("weight_decay", weight_decay)];
        let others = || outside(&numbers, 0.0, f64::INFINITY);
        outside_shares(&[("alpha", alpha)]).or_else(|| no_epsilon(epsilon)).or_else(others)
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        let kept = [("v", true), ("mean", self.centred), ("velocity", self.momentum != 0.0)];
        kept.into_iter().filter(|(_, kept)| *kept).map(|(name, _)| Slot::new(name, param)).collect()
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let (g, gradient) = (cx.g, cx.gradient_with_decay());
        let v = cx.mean(self.alpha, cx.slot(0), g.square(gradient));
        let (mut slots, mut spread) = (vec![v], v);
        if self.centred {
            let mean = cx.mean(self.alpha, cx.slot(1), gradient);
            slots.push(mean);
            spread = g.relu(g.sub(v, g.square(mean)));
        }
        let mut way = g.div(gradient, cx.plus(g.sqrt(spread), self.epsilon));
        if self.momentum != 0.0 {
            way = g.add(cx.times(cx.slot(slots.len()), self.momentum), way);
            slots.push(way);
        }
        Updated { param: g.sub(cx.param, g.mul(way, cx.rate)), slots }
    }
}
