//! `ReduceMin`: the smallest over axes.

use crate::ops::elementwise::ORDERED;
use crate::ops::reduce::reduction;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::Fill;

reduction! {
    /// The smallest x over axes (ONNX ReduceMin), NaN if there is one; +Inf, the highest integer or true over an empty
    /// set.
    ReduceMin reduce_min, join Min, mean false, ORDERED, Fill::Special
}

/// dy/k for each of the k elements that are the minimum.
fn rule(op: &ReduceMin, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    super::reduce::of_extremes(cx, op)
}
