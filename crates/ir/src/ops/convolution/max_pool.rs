//! `MaxPool`: the largest element under a window.

use super::pool::pool;
use super::pool_grad::Windows;
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Grad, GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample};

pool! {
    /// The largest element under a window that slides over one to three spatial axes (ONNX MaxPool, its first result):
    /// x\[B, C, spatial…\] → \[B, C, positions…\]. Pads are not looked at; NaN wins. A window all of whose taps are
    /// outside, which dilation and empty axes allow, gives −Inf or the lowest integer.
    MaxPool max_pool, NUMERIC, Fill::Special, more Vec::<Sample>::new(),
    grad Grad::Rule(rule)
}

/// dy of each window to the first of the largest elements under it.
fn rule(op: &MaxPool, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = Windows::of(cx, op.pool())?;
    Ok(vec![cx.wanted(0, || windows.of_extremes(cx, false))])
}
