//! `GatherNd`.

use super::gather::row;
use super::gather_elements::picked_or_zero;
use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::count;
use crate::ops::elementwise::exact;
use pumice_ir::ops::GatherNd;

impl Eval for GatherNd {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (data, indices, shape) = (cx.arg(0), cx.arg(1), cx.out().1);
        // Where the result is empty nothing is read.
        if count(shape) == 0 {
            return vec![picked_or_zero(data, &[], shape)];
        }
        let batch_dims = self.batch_dims as usize;
        let k = indices.shape[indices.shape.len() - 1] as usize;
        let (axes, slice) = data.shape[batch_dims..].split_at(k);
        let (batches, slice) = (count(&data.shape[..batch_dims]), count(slice));
        let tuples = count(&indices.shape) / k;
        let mut places = Vec::with_capacity(tuples * slice);
        for (t, tuple) in indices.as_ints().chunks(k).enumerate() {
            let first =
                linear(cx, tuple, axes, t * k).map(|at| (t / (tuples / batches) * count(axes) + at) * slice);
            places.extend((0..slice).map(|c| first.map(|first| first + c)));
        }
        vec![picked_or_zero(data, &places, shape)]
    }
    exact!();
}

/// The place that a tuple means in axes of these extents, row-major; one that is outside is reported with its position,
/// `first` being that of the tuple's first index.
pub(super) fn linear(cx: &EvalCx<'_>, tuple: &[i64], axes: &[u64], first: usize) -> Option<usize> {
    let mut at = 0;
    for (i, (&index, &n)) in tuple.iter().zip(axes).enumerate() {
        match row(index, n as usize) {
            Some(r) => at = at * n as usize + r,
            None => {
                cx.raise(Status::IndexOutOfRange((first + i) as u64));
                return None;
            }
        }
    }
    Some(at)
}
