//! What an optimizer is: a function that makes the nodes of one param's update.
//!
//! In: the param, its gradient, its slots, the numbers of this update. Out: what they become. Whether the update is
//! made, and where values are kept, is the step's ([`crate::step_graphs`]).

mod adagrad;
mod adam;
mod lion;
mod rms_prop;
mod sgd;
pub(crate) mod trial;

pub use adagrad::Adagrad;
pub use adam::{Adam, AdamW};
pub use lion::Lion;
pub use rms_prop::RmsProp;
pub use sgd::Sgd;

use crate::held::{self, in_f32};
use pumice_ir::ops::Affine;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;
use std::cell::RefCell;

/// A tensor of f32 that an optimizer keeps for a param from update to update; zeros before the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name, unique among the slots of a param.
    pub name: &'static str,
    /// Its extents.
    pub shape: Vec<u64>,
}

impl Slot {
    /// A slot of these extents.
    pub fn new(name: &'static str, shape: &[u64]) -> Slot {
        Slot { name, shape: shape.to_vec() }
    }
}

/// What an update makes of a param and of its slots, in their order: f32, of their shapes.
pub struct Updated {
    /// The param.
    pub param: Value,
    /// Its slots.
    pub slots: Vec<Value>,
}

/// An optimizer: OPS 3.13. Anyone's own is as good as those in the box.
pub trait Optimizer: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// What is wrong with its own numbers.
    fn mistake(&self) -> Option<String> {
        None
    }

    /// The weight decay of params whose group says no other.
    fn weight_decay(&self) -> f64 {
        0.0
    }

    /// What it keeps for a param of these extents.
    fn slots(&self, param: &[u64]) -> Vec<Slot>;

    /// The numbers of update `t`, 1 in the first, by name: computed on the host in f64, rounded to f32 for the device.
    /// Every update has the same names in the same order.
    fn numbers(&self, _t: u64) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The nodes of an update. The gradient is unscaled and clipped; weight decay is the optimizer's to apply.
    fn update(&self, cx: &UpdateCx<'_>) -> Updated;
}

/// What an optimizer sees of a param.
pub struct UpdateCx<'a> {
    /// Where nodes go.
    pub g: &'a GraphBuilder,
    /// Its extents.
    pub shape: &'a [u64],
    /// The param, f32.
    pub param: Value,
    /// Its gradient, f32 of the same shape.
    pub gradient: Value,
    /// Its slots, in the optimizer's order.
    pub slots: &'a [Value],
    /// The learning rate of its group, f32 of rank 0.
    pub rate: Value,
    /// The weight decay of its group.
    pub decay: f64,
    numbers: &'a [(&'static str, Value)],
    /// What was asked for and is not there.
    missing: RefCell<Option<String>>,
}

impl<'a> UpdateCx<'a> {
    pub(crate) fn new(
        g: &'a GraphBuilder,
        [param, gradient, rate]: [Value; 3],
        (shape, slots): (&'a [u64], &'a [Value]),
        (decay, numbers): (f64, &'a [(&'static str, Value)]),
    ) -> UpdateCx<'a> {
        UpdateCx { g, shape, param, gradient, slots, rate, decay, numbers, missing: RefCell::default() }
    }

    /// One of the optimizer's numbers, f32 of rank 0. One that it does not have is a mistake of the recipe
    /// ([`TrainError::Optimizer`](crate::TrainError::Optimizer)).
    pub fn number(&self, name: &str) -> Value {
        let found = self.numbers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        found.unwrap_or_else(|| {
            self.miss(format!("the number `{name}`"));
            self.g.constant_scalar(DType::F32, 0.0)
        })
    }

    /// A slot by its place. One that it does not have is a mistake of the recipe
    /// ([`TrainError::Optimizer`](crate::TrainError::Optimizer)).
    pub fn slot(&self, place: usize) -> Value {
        let found = self.slots.get(place).copied();
        found.unwrap_or_else(|| {
            self.miss(format!("slot {place}"));
            self.param
        })
    }

    /// A mistake: the trial that a recipe is checked by finds it, so that no step is made.
    fn miss(&self, what: String) {
        self.missing.borrow_mut().get_or_insert(what);
    }

    /// x times a number that is rounded to f32.
    pub fn times(&self, x: Value, factor: f64) -> Value {
        if factor == 1.0 { x } else { self.g.apply(Affine { mul: factor as f32, add: 0.0 }, &[x]) }
    }

    /// x plus a number that is rounded to f32.
    pub fn plus(&self, x: Value, number: f64) -> Value {
        if number == 0.0 { x } else { self.g.apply(Affine { mul: 1.0, add: number as f32 }, &[x]) }
    }

    /// The gradient with decay·param added to it (L2).
    pub fn gradient_with_decay(&self) -> Value {
        if self.decay == 0.0 {
            return self.gradient;
        }
        self.g.add(self.gradient, self.times(self.param, self.decay))
    }

    /// The param less rate·decay·param (decoupled decay).
    pub fn decayed_param(&self) -> Value {
        if self.decay == 0.0 {
            return self.param;
        }
        // Not rate·decay first: that one number would be an operand of the update beside the rate, which the step of
        // an Adam with clipping has no slot left for.
        let fallen = self.g.mul(self.times(self.param, self.decay), self.rate);
        self.g.sub(self.param, fallen)
    }

    /// keep·old + (1 − keep)·new: a running mean.
    pub fn mean(&self, keep: f64, old: Value, new: Value) -> Value {
        self.g.add(self.times(old, keep), self.times(new, 1.0 - in_f32(keep)))
    }
}

/// The first of these shares that is outside `0..1`, in f32 too: one that is rounded to 1 there keeps everything.
pub(crate) fn outside_shares(shares: &[(&str, f64)]) -> Option<String> {
    outside(shares, 0.0, 1.0)
}

/// That ε is none that f32 has as a normal number above 0: params whose gradients are 0 would become NaN, also where a
/// device takes smaller numbers for 0.
pub(crate) fn no_epsilon(epsilon: f64) -> Option<String> {
    let least = f64::from(f32::MIN_POSITIVE);
    let small = || {
        let is_small = in_f32(epsilon) < least;
        is_small.then(|| format!("epsilon is {}, and must be at least {least:e}", held::shown(epsilon)))
    };
    held::outside("epsilon", epsilon, 0.0, f64::INFINITY).or_else(small)
}

/// The first of these numbers that is outside `low..high`, or is none that f32 holds, in words.
pub(crate) fn outside(numbers: &[(&str, f64)], low: f64, high: f64) -> Option<String> {
    numbers.iter().find_map(|&(name, number)| held::outside(name, number, low, high))
}
