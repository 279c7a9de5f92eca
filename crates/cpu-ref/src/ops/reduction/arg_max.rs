//! `ArgMax`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of};
use crate::ops::elementwise::{exact, int_lt};
use pumice_ir::ops::ArgMax;

impl Eval for ArgMax {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let (outer, n, inner) = around(&x.shape, axis_of(self.axis, x.shape.len()));
        let last = self.select_last_index;
        let mut found = Vec::with_capacity(outer * inner);
        for o in 0..outer {
            for i in 0..inner {
                let at = |j: usize| (o * n + j) * inner + i;
                found.push(match &x.data {
                    Data::Float(v) => first_nan(n, |j| v[at(j)])
                        .unwrap_or_else(|| best(n, last, |a, b| v[at(a)] < v[at(b)])),
                    Data::Int(v) => best(n, last, |a, b| int_lt(x.dtype, v[at(a)], v[at(b)])),
                });
            }
        }
        let (dtype, shape) = cx.out();
        vec![Array::ints(dtype, shape, found)]
    }
    exact!();
}

fn first_nan(n: usize, value: impl Fn(usize) -> f64) -> Option<i64> {
    (0..n).find(|&j| value(j).is_nan()).map(|j| j as i64)
}

/// The first (or last) of the largest.
fn best(n: usize, last: bool, less: impl Fn(usize, usize) -> bool) -> i64 {
    let better = |best: usize, j: usize| less(best, j) || last && !less(j, best);
    (1..n).fold(0, |b, j| if better(b, j) { j } else { b }) as i64
}
