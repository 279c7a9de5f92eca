//! `GatherElements`.

use super::gather::row;
use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx, Status};
use crate::index::{axis_of, offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::GatherElements;

impl Eval for GatherElements {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (data, indices) = (cx.arg(0), cx.arg(1));
        let axis = axis_of(self.axis, data.shape.len());
        let n = data.shape[axis] as usize;
        let (mut walk, step) = (strides(&data.shape), strides(&data.shape)[axis] as usize);
        walk[axis] = 0;
        // For each element of the result, the first element of data along the axis, and then the one that is picked.
        let firsts = offsets(&indices.shape, &walk, 0);
        let mut picked = Vec::with_capacity(firsts.len());
        for (position, (first, &index)) in firsts.into_iter().zip(indices.as_ints()).enumerate() {
            let row = row(index, n);
            if row.is_none() {
                cx.raise(Status::IndexOutOfRange(position as u64));
            }
            picked.push(row.map(|r| first + r * step));
        }
        vec![picked_or_zero(data, &picked, cx.out().1)]
    }
    exact!();
}

/// The elements at these places; 0 where there is none.
pub(super) fn picked_or_zero(data: &Array, places: &[Option<usize>], shape: &[u64]) -> Array {
    let elements = match &data.data {
        Data::Float(v) => Data::Float(places.iter().map(|p| p.map_or(0.0, |p| v[p])).collect()),
        Data::Int(v) => Data::Int(places.iter().map(|p| p.map_or(0, |p| v[p])).collect()),
    };
    Array { dtype: data.dtype, shape: shape.to_vec(), data: elements }
}
