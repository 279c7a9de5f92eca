//! `ArgSortRuns`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of, count};
use crate::ops::elementwise::{exact, int_lt};
use pumice_ir::ops::ArgSortRuns;
use std::cmp::Ordering;
use std::ops::Range;

/// How elements are ordered.
struct Order<'a> {
    x: &'a Array,
    largest: bool,
}

impl Order<'_> {
    /// Places in the order of the elements `at` them, equal ones by place.
    fn sorted(&self, places: impl Iterator<Item = i64>, at: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut places: Vec<usize> = places.map(|p| p as usize).collect();
        places.sort_by(|&a, &b| self.of(at(a), at(b)).then(a.cmp(&b)));
        places
    }

    /// Of two elements: NaN is above infinity.
    fn of(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = if self.largest { (b, a) } else { (a, b) };
        match &self.x.data {
            Data::Float(v) => v[a].partial_cmp(&v[b]).unwrap_or_else(|| v[a].is_nan().cmp(&v[b].is_nan())),
            Data::Int(v) if int_lt(self.x.dtype, v[a], v[b]) => Ordering::Less,
            Data::Int(v) if int_lt(self.x.dtype, v[b], v[a]) => Ordering::Greater,
            Data::Int(_) => Ordering::Equal,
        }
    }
}

impl Eval for ArgSortRuns {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        places(cx, self)
    }
    exact!();
}

/// Places of operand 0, those that operand 1 names or all, run by run.
pub(super) fn places(cx: &EvalCx<'_>, op: &ArgSortRuns) -> Vec<Array> {
    let (x, (dtype, shape)) = (cx.arg(0), cx.out());
    let axis = axis_of(op.axis, x.shape.len());
    let (outer, n, inner) = around(&x.shape, axis);
    let (m, len) = (cx.opt(1).map_or(n, |order| order.shape[axis] as usize), shape[axis] as usize);
    let mut y = vec![-1; count(shape)];
    for (o, c) in (0..outer).flat_map(|o| (0..inner).map(move |c| (o, c))) {
        let place = |i: usize| cx.opt(1).map_or(i as i64, |order| order.as_ints()[(o * m + i) * inner + c]);
        let order = Order { x, largest: op.largest };
        let kept = kept(op, [len, m], |run| {
            let places = run.map(place).filter(|p| (0..n as i64).contains(p));
            order.sorted(places, |p| (o * n + p) * inner + c)
        });
        kept.into_iter().for_each(|(at, place)| y[(o * len + at) * inner + c] = place);
    }
    vec![Array::ints(dtype, shape, y)]
}

/// Which of the `len` results of a row of m places are places, those that `sorted` has of each run.
fn kept(
    op: &ArgSortRuns,
    [len, m]: [usize; 2],
    sorted: impl Fn(Range<usize>) -> Vec<usize>,
) -> Vec<(usize, i64)> {
    let run = op.run as usize;
    let keep = match (op.whole, &op.keep) {
        (true, _) => len,
        (_, None) => run,
        (_, Some(_)) => len / m.div_ceil(run).max(1),
    };
    let of_run = |(r, first): (usize, usize)| {
        let places = sorted(first..m.min(first.saturating_add(run))).into_iter().take(keep).enumerate();
        places.map(|(j, place)| (r * keep + j, place as i64)).collect::<Vec<_>>()
    };
    (0..m).step_by(run).enumerate().flat_map(of_run).collect()
}
