//! `Gather`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx, Status};
use crate::index::{around, axis_of};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Gather;

impl Eval for Gather {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (data, indices) = (cx.arg(0), cx.arg(1).as_ints());
        let (outer, n, inner) = around(&data.shape, axis_of(self.axis, data.shape.len()));
        let rows: Vec<Option<usize>> = indices.iter().map(|&i| row(i, n)).collect();
        let (_, shape) = cx.out();
        // Where the result is empty nothing is read.
        let empty = crate::index::count(shape) == 0;
        for (position, _) in rows.iter().enumerate().filter(|(_, r)| r.is_none() && !empty) {
            cx.raise(Status::IndexOutOfRange(position as u64));
        }
        let (dtype, shape) = cx.out();
        let data = match &data.data {
            Data::Float(v) => Data::Float(pick(v, &rows, outer, n, inner, 0.0)),
            Data::Int(v) => Data::Int(pick(v, &rows, outer, n, inner, 0)),
        };
        vec![Array { dtype, shape: shape.to_vec(), data }]
    }
    exact!();
}

/// The row an index means; a negative one counts from the end.
pub(super) fn row(index: i64, n: usize) -> Option<usize> {
    let from_start = if index < 0 { index.checked_add(n as i64)? } else { index };
    usize::try_from(from_start).ok().filter(|&r| r < n)
}

fn pick<T: Copy>(v: &[T], rows: &[Option<usize>], outer: usize, n: usize, inner: usize, zero: T) -> Vec<T> {
    let mut out = Vec::with_capacity(outer * rows.len() * inner);
    for o in 0..outer {
        for row in rows {
            match row {
                Some(r) => out.extend_from_slice(&v[(o * n + r) * inner..][..inner]),
                None => out.resize(out.len() + inner, zero),
            }
        }
    }
    out
}
