//! `GroupedMatMul`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::count;
use crate::tolerance::Tolerance;
use pumice_ir::ops::GroupedMatMul;

/// Σ f(x)·f(w) for every element of the result; zeros where the id is outside, each place of which `outside` gets.
fn product(
    op: &GroupedMatMul,
    cx: &EvalCx<'_>,
    f: impl Fn(f64) -> f64,
    mut outside: impl FnMut(u64),
) -> Vec<f64> {
    let (x, w, ids) = (cx.arg(0), cx.arg(1), cx.arg(2).as_ints());
    let [experts, first, second] = [0, 1, 2].map(|axis| w.shape[axis] as usize);
    let (k, n) = if op.trans { (second, first) } else { (first, second) };
    let mut y = vec![0.0; count(cx.out().1)];
    if y.is_empty() {
        return y;
    }
    let picks = ids.len() / x.shape[0] as usize;
    for (m, (&id, y)) in ids.iter().zip(y.chunks_mut(n)).enumerate() {
        let Some(expert) = usize::try_from(id).ok().filter(|&e| e < experts) else {
            outside(m as u64);
            continue;
        };
        let row = &x.as_floats()[m / picks * k..][..k];
        let w = &w.as_floats()[expert * k * n..][..k * n];
        for (c, y) in y.iter_mut().enumerate() {
            let of = |i: usize| if op.trans { w[c * k + i] } else { w[i * n + c] };
            *y = row.iter().enumerate().map(|(i, &v)| f(v) * f(of(i))).sum();
        }
    }
    y
}

impl Eval for GroupedMatMul {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let raise = |m| cx.raise(Status::IndexOutOfRange(m));
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, product(self, cx, |v| v, raise))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, cx.arg(0).shape[1])
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        product(self, cx, f64::abs, |_| {})
    }
}
