//! Gradients of `Resample`, which is linear in its operand and in the weights of each axis.
//!
//! y\[…, i, …\] = Σₜ w\[i, t\]·x\[…, at\[i, t\], …\] along each axis, so that along one axis
//! dx\[…, n, …\] = Σ w\[i, t\]·dy\[…, i, …\] over the taps with at\[i, t\] = n, rows added up by index, and
//! dw\[i, t\] = Σ dy\[…, i, …\]·x\[…, at\[i, t\], …\] over all other axes. Of two axes each is passed with the other
//! resampled, or passed, before.

use super::resample::Resample;
use crate::builder::Value;
use crate::ops::pad::Pad;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::shape::product;
use pumice_types::{DType, DimExpr};

/// One axis: its number, its table and its weights, and the extent of x.
struct Axis {
    at: usize,
    table: Value,
    weights: Option<Value>,
    /// The operand that its weights are.
    operand: usize,
    n: DimExpr,
}

/// The rule of `Resample`.
pub(super) fn rule(op: &Resample, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let axes = axes(op, cx)?;
    let mut grads: Grads = vec![None; 5];
    grads[0] = cx.wanted(0, || by_operand(cx, &axes));
    for axis in &axes {
        let by_weights = || axis.by_weights(cx, resampled_along_others(op, cx, &axes, axis));
        grads[axis.operand] = cx.wanted(axis.operand, by_weights);
    }
    Ok(grads)
}

/// dx, in the dtype of x.
fn by_operand(cx: &GradCx<'_>, axes: &[Axis]) -> Value {
    let dy = widened(cx, cx.dy());
    let dx = axes.iter().rev().fold(dy, |dy, axis| axis.by_elements(cx, dy));
    let dtype = cx.ty(cx.x(0)).dtype();
    if cx.ty(dx).dtype() == dtype { dx } else { cx.g.cast(dx, dtype) }
}

/// x resampled along all axes but this one.
fn resampled_along_others(op: &Resample, cx: &GradCx<'_>, axes: &[Axis], but: &Axis) -> Value {
    let others = axes.iter().filter(|axis| axis.operand != but.operand);
    others.fold(cx.x(0), |x, other| {
        cx.g.resample(x, &[other.at as i64], op.taps, (other.table, other.weights), None)
    })
}

/// The axes of a node.
fn axes(op: &Resample, cx: &GradCx<'_>) -> Result<Vec<Axis>, NoGrad> {
    let x = cx.shape(cx.x(0));
    let axes = op.axes(x.len()).map_err(|_| NoGrad::Undefined("its axes are not those of its operand"))?;
    let operands = [(2, 4), (1, 3)];
    let first = operands.len().saturating_sub(axes.len());
    let axis = |(&at, &(table, weights)): (&usize, &(usize, usize))| Axis {
        at,
        table: cx.x(table),
        weights: cx.opt(weights),
        operand: weights,
        n: x[at].clone(),
    };
    Ok(axes.iter().zip(&operands[first..]).map(axis).collect())
}

/// Elements in which sums are made.
fn widened(cx: &GradCx<'_>, v: Value) -> Value {
    if cx.ty(v).dtype() == DType::F32 { v } else { cx.g.cast(v, DType::F32) }
}

impl Axis {
    /// Whether symbols may leave x without an element along the axis: then it is passed as one element longer, a zero
    /// that indices of an empty axis meet.
    fn may_be_empty(&self, cx: &GradCx<'_>) -> bool {
        self.n.lower(&cx.g.symbols().unwrap_or_default()) == 0
    }

    /// The table, indices outside being those of the border.
    fn places(&self, cx: &GradCx<'_>) -> Value {
        let g = cx.g;
        let last = g.cast(g.scaled(g.length(&self.n), 1, -1), DType::I32);
        g.between(self.table, g.constant_scalar(DType::I32, 0.0), last)
    }

    /// Taps of each element as an extent of a shape; one where it is taken as it is.
    fn taps(&self, cx: &GradCx<'_>) -> DimExpr {
        cx.shape(self.table).get(1).cloned().unwrap_or(DimExpr::constant(1))
    }

    /// From the gradient along the resampled axis that along the axis of x.
    fn by_elements(&self, cx: &GradCx<'_>, dy: Value) -> Value {
        let (g, mut shape) = (cx.g, cx.shape(dy));
        if self.n.is(0) {
            shape[self.at] = self.n.clone();
            return g.fill(g.constant_scalar(DType::F32, 0.0), shape);
        }
        let rank = shape.len() as i64;
        let m = shape.remove(self.at);
        let rows = self.by_taps(cx, g.transpose(dy, &self.first_of(rank)), &m, product(&shape));
        let sums = self.added_up(cx, rows, &m * &self.taps(cx));
        shape.insert(0, self.n.clone());
        g.transpose(g.reshape_to(sums, shape), &self.back_of(rank))
    }

    /// The order of so many axes that has this one first.
    fn first_of(&self, rank: i64) -> Vec<i64> {
        let at = self.at as i64;
        std::iter::once(at).chain((0..rank).filter(|&axis| axis != at)).collect()
    }

    /// The order that puts the first of so many axes back in the place of this one.
    fn back_of(&self, rank: i64) -> Vec<i64> {
        let at = self.at as i64;
        (1..=at).chain([0]).chain(at + 1..rank).collect()
    }

    /// Of \[m, others…\] what each tap adds, a row of all others: \[m·taps, line\].
    fn by_taps(&self, cx: &GradCx<'_>, dy: Value, m: &DimExpr, line: DimExpr) -> Value {
        let (g, taps) = (cx.g, self.taps(cx));
        let mut rows = g.reshape_to(dy, vec![m.clone(), 1u64.into(), line.clone()]);
        if let Some(weights) = self.weights {
            let weights = g.reshape_to(weights, vec![m.clone(), taps.clone(), 1u64.into()]);
            rows = g.mul(rows, weights);
        }
        g.reshape_to(rows, vec![m * &taps, line])
    }

    /// So many rows, one for each tap, added up by the elements of x that they read: \[n, line\].
    fn added_up(&self, cx: &GradCx<'_>, rows: Value, count: DimExpr) -> Value {
        let g = cx.g;
        let places = g.reshape_to(self.places(cx), vec![count]);
        if !self.may_be_empty(cx) {
            return g.scatter_add(rows, places, self.n.clone());
        }
        let sums = g.scatter_add(rows, places, &self.n + &DimExpr::constant(1));
        g.narrow(sums, 0, 0u64, self.n.clone())
    }

    /// The gradient by the weights, of an x whose other axis is resampled.
    fn by_weights(&self, cx: &GradCx<'_>, x: Value) -> Value {
        let (g, at) = (cx.g, self.at as i64);
        if self.n.is(0) {
            return cx.zeros(cx.x(self.operand));
        }
        let x = match self.may_be_empty(cx) {
            true => g.pad(x, None, Pad { pads: vec![0, 1], axes: vec![at], ..Pad::default() }),
            false => x,
        };
        let under = g.gather(self.as_three(cx, x), self.places(cx), 1);
        let dy = g.unsqueeze(self.as_three(cx, cx.dy()), &[2]);
        g.reduce_sum(g.mul(under, dy), &[0, 3], false)
    }

    /// All axes as three: what is before, the axis, what is after.
    fn as_three(&self, cx: &GradCx<'_>, v: Value) -> Value {
        let shape = cx.shape(v);
        let (before, after) = (product(&shape[..self.at]), product(&shape[self.at + 1..]));
        cx.g.reshape_to(v, vec![before, shape[self.at].clone(), after])
    }
}
