//! Stochastic gradient descent, with momentum.

use super::{Optimizer, Slot, UpdateCx, Updated, outside};

/// g += decay·p (L2); without momentum p −= rate·g. With it v = momentum·v + b·g, b being 1 in the first update and
/// 1 − dampening in all others, and p −= rate·v, or rate·(g + momentum·v) of Nesterov (PyTorch `SGD`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sgd {
    /// What the velocity keeps of itself.
    pub momentum: f64,
    /// What the velocity does not take of a gradient.
    pub dampening: f64,
    /// Whether the step looks ahead by the momentum; not with dampening.
    pub nesterov: bool,
    /// Weight decay, added to gradients.
    pub weight_decay: f64,
}

impl Optimizer for Sgd {
    fn name(&self) -> &'static str {
        "SGD"
    }

    fn mistake(&self) -> Option<String> {
        let Sgd { momentum, dampening, nesterov, weight_decay } = *self;
        if nesterov && (momentum == 0.0 || dampening != 0.0) {
            return Some("Nesterov's step needs a momentum and no dampening".to_owned());
        }
        let numbers = [("momentum", momentum), ("dampening", dampening), ("weight_decay", weight_decay)];
        outside(&numbers, 0.0, f64::INFINITY)
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        if self.momentum == 0.0 { Vec::new() } else { vec![Slot::new("velocity", param)] }
    }

    fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
        if self.momentum == 0.0 || self.dampening == 0.0 {
            return Vec::new();
        }
        vec![("share", if t <= 1 { 1.0 } else { 1.0 - self.dampening })]
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let (g, gradient) = (cx.g, cx.gradient_with_decay());
        if self.momentum == 0.0 {
            return Updated { param: g.sub(cx.param, g.mul(gradient, cx.rate)), slots: Vec::new() };
        }
        let taken = if self.dampening == 0.0 { gradient } else { g.mul(gradient, cx.number("share")) };
        let velocity = g.add(cx.times(cx.slot(0), self.momentum), taken);
        let way = if self.nesterov { g.add(gradient, cx.times(velocity, self.momentum)) } else { velocity };
        Updated { param: g.sub(cx.param, g.mul(way, cx.rate)), slots: vec![velocity] }
    }
}
