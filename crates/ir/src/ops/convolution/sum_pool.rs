//! `SumPool`: the sum of the elements under a window.

use super::pool::pool;
use super::pool_grad::Windows;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample};

pool! {
    /// The sum of the elements under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads add nothing; 16-bit floats are added in f32.
    SumPool sum_pool, FLOATS, Fill::Normal, more Vec::<Sample>::new(),
    grad Grad::Rule(rule)
}

/// dx\[n\] = Σ dy\[q\] over the windows q that cover n.
fn rule(op: &SumPool, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = Windows::of(cx, op.pool())?;
    Ok(vec![cx.wanted(0, || windows.of_sums(cx))])
}
