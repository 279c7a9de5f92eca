//! `UniqueParts`: slices sorted, those that are equal taken together.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of, count};
use crate::ops::elementwise::{exact, int_lt};
use pumice_ir::ops::UniqueParts;
use pumice_types::DType;
use std::cmp::Ordering;

/// Where the elements of slices lie.
#[derive(Clone, Copy)]
struct Slices {
    outer: usize,
    number: usize,
    inner: usize,
}

impl Slices {
    fn of(shape: &[u64], axis: Option<i64>) -> Slices {
        let (outer, number, inner) = match axis {
            Some(axis) => around(shape, axis_of(axis, shape.len())),
            None => (1, count(shape), 1),
        };
        Slices { outer, number, inner }
    }

    /// The elements of a slice in row-major order.
    fn elements(self, slice: usize) -> impl Iterator<Item = usize> {
        let Slices { outer, number, inner } = self;
        (0..outer).flat_map(move |o| (0..inner).map(move |i| (o * number + slice) * inner + i))
    }
}

/// NaN is above infinity and equals NaN; −0 equals 0.
fn order_of_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn order_of_ints(dtype: DType, a: i64, b: i64) -> Ordering {
    int_lt(dtype, b, a).cmp(&int_lt(dtype, a, b))
}

fn order(x: &Array, slices: Slices, a: usize, b: usize) -> Ordering {
    let elements = slices.elements(a).zip(slices.elements(b));
    let mut orders = elements.map(|(a, b)| match &x.data {
        Data::Float(v) => order_of_floats(v[a], v[b]),
        Data::Int(v) => order_of_ints(x.dtype, v[a], v[b]),
    });
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Slices that are equal, by their places in order: the groups as results have them.
fn groups(op: &UniqueParts, x: &Array, slices: Slices) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..slices.number).collect();
    places.sort_by(|&a, &b| order(x, slices, a, b));
    let equal = |a: &usize, b: &usize| order(x, slices, *a, *b).is_eq();
    let mut groups: Vec<Vec<usize>> = places.chunk_by(equal).map(<[usize]>::to_vec).collect();
    if !op.sorted {
        groups.sort_by_key(|group| group[0]);
    }
    groups
}

/// The first slice of each group, one after the other along the axis, then zeros.
fn values(op: &UniqueParts, x: &Array, slices: Slices, groups: &[Vec<usize>], shape: &[u64]) -> Array {
    let n = count(shape);
    let data = match &x.data {
        Data::Float(_) => Data::Float(vec![0.0; n]),
        Data::Int(_) => Data::Int(vec![0; n]),
    };
    let mut values = Array { dtype: x.dtype, shape: shape.to_vec(), data };
    let made = Slices::of(shape, op.axis);
    for (number, group) in groups.iter().enumerate() {
        let (to, from): (Vec<usize>, Vec<usize>) =
            made.elements(number).zip(slices.elements(group[0])).unzip();
        values.scatter(&to, x, &from);
    }
    values
}

/// Which group each slice is of.
fn inverse(groups: &[Vec<usize>], slices: usize) -> Vec<i64> {
    let mut inverse = vec![0; slices];
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|&place| inverse[place] = number as i64);
    }
    inverse
}

impl Eval for UniqueParts {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let slices = Slices::of(&x.shape, self.axis);
        let groups = groups(self, x, slices);
        let list = |result: usize, mut list: Vec<i64>| {
            let (dtype, shape) = &cx.outputs[result];
            list.resize(count(shape), 0);
            Array::ints(*dtype, shape, list)
        };
        let of_each = |number: fn(&[usize]) -> usize| groups.iter().map(|g| number(g) as i64).collect();
        vec![
            values(self, x, slices, &groups, &cx.outputs[0].1),
            list(1, of_each(|group| group[0])),
            list(2, inverse(&groups, slices.number)),
            list(3, of_each(<[usize]>::len)),
            list(4, vec![groups.len() as i64]),
        ]
    }
    exact!();
}
