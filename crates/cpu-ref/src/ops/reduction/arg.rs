//! What the places of extrema share: a walk along one axis.

use crate::array::{Array, Data};
use crate::eval::EvalCx;
use crate::index::{around, axis_of};
use crate::ops::elementwise::int_lt;

/// For each row, the place of its first NaN, else of the first (or last) of its largest elements, of its smallest ones
/// where `min`.
pub fn places(cx: &EvalCx<'_>, axis: i64, last: bool, min: bool) -> Vec<Array> {
    let x = cx.arg(0);
    let (outer, n, inner) = around(&x.shape, axis_of(axis, x.shape.len()));
    let mut found = Vec::with_capacity(outer * inner);
    for o in 0..outer {
        for i in 0..inner {
            let at = |j: usize| (o * n + j) * inner + i;
            let ordered = |a, b| if min { (b, a) } else { (a, b) };
            found.push(match &x.data {
                Data::Float(v) => first_nan(n, |j| v[at(j)]).unwrap_or_else(|| {
                    best(n, last, |a, b| {
                        let (a, b) = ordered(a, b);
                        v[at(a)] < v[at(b)]
                    })
                }),
                Data::Int(v) => best(n, last, |a, b| {
                    let (a, b) = ordered(a, b);
                    int_lt(x.dtype, v[at(a)], v[at(b)])
                }),
            });
        }
    }
    let (dtype, shape) = cx.out();
    vec![Array::ints(dtype, shape, found)]
}

fn first_nan(n: usize, value: impl Fn(usize) -> f64) -> Option<i64> {
    (0..n).find(|&j| value(j).is_nan()).map(|j| j as i64)
}

/// The first (or last) of those that no other is better than.
fn best(n: usize, last: bool, worse: impl Fn(usize, usize) -> bool) -> i64 {
    let better = |best: usize, j: usize| worse(best, j) || last && !worse(j, best);
    (1..n).fold(0, |b, j| if better(b, j) { j } else { b }) as i64
}
