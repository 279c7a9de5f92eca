//! `ReduceMax`: the largest over axes.

use crate::ops::elementwise::ORDERED;
use crate::ops::reduce::reduction;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::Fill;

reduction! {
    /// The largest x over axes (ONNX ReduceMax), NaN if there is one; −Inf, the lowest integer or false over an empty
    /// set.
    ReduceMax reduce_max, join Max, mean false, ORDERED, Fill::Special
}

/// dy/k for each of the k elements that are the maximum.
fn rule(op: &ReduceMax, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    super::reduce::of_extremes(cx, op)
}
