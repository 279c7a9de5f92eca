//! The scale of the loss, for products whose operands are rounded to 16 bits (OPS 3.13).
//!
//! Gradients are those of scale·loss, divided by the scale where they come out: small ones are not lost in rounding,
//! and a power of two changes nothing else. The scale is a state: it halves where an update is left out and doubles
//! after many good ones.

use crate::names;
use pumice_ir::ops::Affine;
use pumice_ir::{GraphBuilder, Value, tensor};
use pumice_types::DType;

/// What the scale begins as, and at most is.
const MOST: f64 = 65_536.0;
/// Updates in a row after which it doubles.
const GOOD: f64 = 2_000.0;
/// Updates left out in a row for a finite loss, before that stops.
const SKIPS: f64 = 20.0;

/// The scale of an entry, and how many updates were left out in a row, as states and what they are.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    scale: (Value, Value),
    in_row: (Value, Value),
}

impl Scale {
    pub(super) fn read(g: &GraphBuilder) -> Scale {
        let scale = g.state_from(names::SCALE, g.constant_scalar(DType::F32, MOST));
        let in_row = g.state(names::SKIPS_IN_ROW, tensor(DType::I32, [0u64; 0]));
        Scale { scale: (scale, g.state_read(scale)), in_row: (in_row, g.state_read(in_row)) }
    }

    /// Whether another scale may make an update that is left out: the loss is finite and the scale above 1, and not so
    /// many were left out in a row.
    pub(super) fn may_help(self, g: &GraphBuilder, finite_loss: Value) -> Value {
        let above = g.greater(self.scale.1, g.constant_scalar(DType::F32, 1.0));
        let few = g.less(self.in_row.1, g.constant_scalar(DType::I32, SKIPS));
        g.and(g.and(finite_loss, above), few)
    }

    /// Halves the scale, at least to 1, where an update failed; doubles it where one was made, after `good` of them.
    /// The good ones from now on are counted anew then.
    pub(super) fn write(self, g: &GraphBuilder, (made, failed): (Value, Value), good: Value) -> Value {
        let Scale { scale: (scale, now), in_row: (in_row, before) } = self;
        let times = |factor: f32| g.apply(Affine { mul: factor, add: 0.0 }, &[now]);
        let [least, most] = [1.0, MOST].map(|v| g.constant_scalar(DType::F32, v));
        let [zero, one, enough] = [0.0, 1.0, GOOD].map(|v| g.constant_scalar(DType::I32, v));
        let many = g.greater_or_equal(good, enough);
        let up = g.select(g.and(made, many), g.min(&[times(2.0), most]), now);
        g.state_write(scale, g.select(failed, g.max(&[times(0.5), least]), up));
        let failures = g.select(failed, g.add(before, one), before);
        g.state_write(in_row, g.select(made, zero, failures));
        g.select(many, zero, good)
    }
}

/// The gradients of an objective by these values, with a scale on the way.
pub(super) fn gradients(
    g: &GraphBuilder,
    scale: Option<Scale>,
    objective: Value,
    wanted: &[Value],
) -> Vec<Value> {
    let Some(Scale { scale: (_, now), .. }) = scale else { return g.grad(objective, wanted) };
    let scaled = g.grad(g.mul(objective, now), wanted);
    let back = g.reciprocal(now);
    scaled.into_iter().map(|gradient| g.mul(gradient, back)).collect()
}
