//! `MinPool`: the smallest element under a window.

use super::pool::pool;
use super::pool_grad::Windows;
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Grad, GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample};

pool! {
    /// The smallest element under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads are not looked at; NaN wins. A window all of whose taps are outside, which dilation
    /// and empty axes allow, gives +Inf or the highest integer.
    MinPool min_pool, NUMERIC, Fill::Special, more Vec::<Sample>::new(),
    grad Grad::Rule(rule)
}

/// dy of each window to the first of the smallest elements under it: the largest of −x.
fn rule(op: &MinPool, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = Windows::of(cx, op.pool())?;
    Ok(vec![cx.wanted(0, || windows.of_extremes(cx, true))])
}
