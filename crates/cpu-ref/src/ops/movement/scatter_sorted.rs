//! `ScatterSorted`.

use super::scatter::Scattered;
use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ScatterSorted;
use std::borrow::Cow;

/// Data with the updates in their order; partial reductions are not asked.
fn scattered<'a>(op: &ScatterSorted, cx: &EvalCx<'a>) -> Scattered<'a> {
    let (data, updates) = (cx.arg(0), cx.arg(3));
    let columns = data.shape[1] as usize;
    let elements = |row: usize| row * columns..(row + 1) * columns;
    let rows = rows(cx);
    let taken: Vec<usize> = rows.iter().flat_map(|&(row, _)| elements(row)).collect();
    let places = rows.iter().flat_map(|&(_, place)| elements(place).map(Some)).collect();
    Scattered { data, updates: Cow::Owned(picked(updates, &taken)), places, reduction: op.reduction }
}

/// These elements.
fn picked(x: &Array, elements: &[usize]) -> Array {
    let data = match &x.data {
        Data::Float(v) => Data::Float(elements.iter().map(|&i| v[i]).collect()),
        Data::Int(v) => Data::Int(elements.iter().map(|&i| v[i]).collect()),
    };
    Array { dtype: x.dtype, shape: vec![elements.len() as u64], data }
}

/// Rows of updates with the rows of data that they go to.
fn rows(cx: &EvalCx<'_>) -> Vec<(usize, usize)> {
    let inside = |i: i64, n: u64| usize::try_from(i).ok().filter(|&i| (i as u64) < n);
    let pair = |(&row, &place): (&i64, &i64)| {
        Some((inside(row, cx.arg(3).shape[0])?, inside(place, cx.arg(0).shape[0])?))
    };
    cx.arg(2).as_ints().iter().zip(cx.arg(1).as_ints()).filter_map(pair).collect()
}

impl Eval for ScatterSorted {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        scattered(self, cx).eval(cx)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        scattered(self, cx).tolerance(cx)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        scattered(self, cx).magnitude()
    }
}
