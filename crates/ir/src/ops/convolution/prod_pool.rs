//! `ProdPool`: the product of the elements under a window.

use super::pool::pool;
use super::pool_grad::Windows;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample};

pool! {
    /// The product of the elements under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads multiply nothing, and a window all of whose taps are outside gives 1; 16-bit floats
    /// are multiplied in f32.
    ProdPool prod_pool, FLOATS, Fill::Uniform(0.5, 1.75), more Vec::<Sample>::new(),
    grad Grad::Rule(rule)
}

/// dx\[n\] = Σ dy\[q\]·Π x of the other taps, over the windows q that cover n.
fn rule(op: &ProdPool, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = Windows::of(cx, op.pool())?;
    Ok(vec![cx.wanted(0, || windows.of_products(cx))])
}
