//! `ReduceSum`: the sum over axes.

use crate::ops::elementwise::NUMERIC;
use crate::ops::reduce::reduction;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::Fill;

reduction! {
    /// Σx over axes (ONNX ReduceSum); 0 over an empty set.
    ReduceSum reduce_sum, join Add, mean false, NUMERIC, Fill::Normal
}

/// dy for every element of its sum.
fn rule(op: &ReduceSum, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(super::reduce::spread(cx, cx.dy(), op)?)])
}
