//! `GatherElements`.

use super::gather::row;
use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx, Status};
use crate::index::{axis_of, offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::GatherElements;

impl Eval for GatherElements {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![picked_or_zero(cx.arg(0), &places(cx, (&cx.arg(0).shape, self.axis), cx.arg(1)), cx.out().1)]
    }
    exact!();
}

/// The element of data of that shape that each index means along an axis; one that is outside is reported.
pub(super) fn places(cx: &EvalCx<'_>, (shape, axis): (&[u64], i64), indices: &Array) -> Vec<Option<usize>> {
    let axis = axis_of(axis, shape.len());
    let n = shape[axis] as usize;
    let (mut walk, step) = (strides(shape), strides(shape)[axis] as usize);
    walk[axis] = 0;
    // The first element of data along the axis, then the one that is meant.
    let firsts = offsets(&indices.shape, &walk, 0);
    let mut meant = Vec::with_capacity(firsts.len());
    for (position, (first, &index)) in firsts.into_iter().zip(indices.as_ints()).enumerate() {
        let row = row(index, n);
        if row.is_none() {
            cx.raise(Status::IndexOutOfRange(position as u64));
        }
        meant.push(row.map(|r| first + r * step));
    }
    meant
}

/// The elements at these places; 0 where there is none.
pub(super) fn picked_or_zero(data: &Array, places: &[Option<usize>], shape: &[u64]) -> Array {
    let elements = match &data.data {
        Data::Float(v) => Data::Float(places.iter().map(|p| p.map_or(0.0, |p| v[p])).collect()),
        Data::Int(v) => Data::Int(places.iter().map(|p| p.map_or(0, |p| v[p])).collect()),
    };
    Array { dtype: data.dtype, shape: shape.to_vec(), data: elements }
}
