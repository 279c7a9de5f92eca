//! `ScatterPartials`.

use super::scatter::{float, int};
use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::tolerance::{EPS32, Tolerance};
use pumice_ir::ops::ScatterPartials;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::scatter_partials::CHUNK;
use pumice_ir::ops::scatter_places::NOWHERE;

/// For each result the rows that are reduced to it, if they are of one place.
fn chunks(op: &ScatterPartials, cx: &EvalCx<'_>) -> Vec<Option<Vec<usize>>> {
    let (places, count) = (cx.arg(0).as_ints(), cx.arg(1).shape[0] as usize);
    let row = |j: usize| {
        let row = cx.opt(2).map_or(j as i64, |order| order.as_ints()[j]);
        usize::try_from(row).ok().filter(|&row| row < count)
    };
    let chunk = |first: usize| {
        let end = count.min(first + CHUNK as usize);
        let [begin, last] = [first, end].map(|j| (j * op.span as usize).min(places.len()));
        let of_one = places[begin] == places[last - 1] && places[begin] != NOWHERE;
        of_one.then(|| (first..end).filter_map(row).collect())
    };
    (0..count).step_by(CHUNK as usize).map(chunk).collect()
}

/// 0 where the rows of a chunk are of several places.
fn reduced<T: Copy>(
    (chunks, columns): (&[Option<Vec<usize>>], usize),
    rows: &[T],
    zero: T,
    met: impl Fn(T, T) -> T,
) -> Vec<T> {
    let each = |chunk: &Option<Vec<usize>>, c: usize| {
        let rows = chunk.iter().flatten().map(|row| rows[row * columns + c]);
        rows.reduce(&met).unwrap_or(zero)
    };
    chunks.iter().flat_map(|chunk| (0..columns).map(|c| each(chunk, c)).collect::<Vec<T>>()).collect()
}

impl Eval for ScatterPartials {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (rows, (dtype, shape)) = (cx.arg(1), cx.out());
        let (chunks, columns) = (chunks(self, cx), rows.shape[1] as usize);
        let chunks = (&chunks[..], columns);
        vec![match &rows.data {
            Data::Float(v) => {
                let met = |a, u| float(self.reduction, a, u);
                Array::floats(dtype, shape, reduced(chunks, v, 0.0, met))
            }
            Data::Int(v) => {
                Array::ints(dtype, shape, reduced(chunks, v, 0, |a, u| int(dtype, self.reduction, a, u)))
            }
        }]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        match self.reduction {
            ScatterReduction::Max | ScatterReduction::Min => Tolerance::chosen(cx.out().0),
            _ => Tolerance::sum(cx.out().0, CHUNK),
        }
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let rows = cx.arg(1);
        let (chunks, columns) = (chunks(self, cx), rows.shape[1] as usize);
        let (of, v) =
            ((&chunks[..], columns), rows.as_floats().iter().map(|v| v.abs()).collect::<Vec<f64>>());
        if self.reduction == ScatterReduction::Add {
            return reduced(of, &v, 0.0, |a, u| a + u);
        }
        let class = Tolerance::of_sum(CHUNK);
        let products = reduced(of, &v, 0.0, |a, u| a * u);
        products.into_iter().map(|p| p * CHUNK as f64 * EPS32 / class).collect()
    }
}
