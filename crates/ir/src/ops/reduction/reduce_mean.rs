//! `ReduceMean`: the mean over axes.

use crate::ops::elementwise::NUMERIC;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::reduce::Reduction;
use crate::ops::reduce::reduction;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::Fill;
use pumice_types::DType;

reduction! {
    /// Σx/n over axes (ONNX ReduceMean); NaN over an empty set. Integers truncate; their mean of nothing is 0.
    ReduceMean reduce_mean, join Add, mean true, NUMERIC, Fill::Normal
}

/// dy/n for every element of its mean.
fn rule(op: &ReduceMean, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, x) = (cx.g, cx.x(0));
    let shape = cx.shape(x);
    let axes = op.axes(shape.len()).map_err(|_| NoGrad::Composed)?;
    // More elements than 16 bits count.
    let count = g.cast(g.count_of(x, &shape, &axes), DType::F32);
    let share = narrowed(cx, g.div(wide(g, cx.dy()), count), x);
    Ok(vec![Some(super::reduce::spread(cx, share, op)?)])
}
