//! `ScanRuns`, and the walk that it shares with cumulative sums and products.

use super::reduce_prod::{of_roundings, roundings};
use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ScanRuns;

/// How elements of an axis are cumulated.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub axis: i64,
    /// Elements after which it begins anew.
    pub run: usize,
    pub exclusive: bool,
    pub reverse: bool,
    /// The whole of each run alone.
    pub totals: bool,
}

impl Walk {
    /// The walk of values of this shape: `first` begins run r of all, `join` takes an element in.
    pub fn of<T: Copy>(
        self,
        shape: &[u64],
        v: &[T],
        first: impl Fn(usize) -> T,
        join: impl Fn(T, T) -> T,
    ) -> Vec<T> {
        let (outer, n, inner) = around(shape, axis_of(self.axis, shape.len()));
        let runs = n.div_ceil(self.run);
        let len = if self.totals { runs } else { n };
        let at =
            |o: usize, i: usize, c: usize| (o * n + if self.reverse { n - 1 - i } else { i }) * inner + c;
        let mut placed: Vec<Option<T>> = vec![None; outer * len * inner];
        for o in 0..outer {
            for c in 0..inner {
                for r in 0..runs {
                    let mut sum = first((o * runs + r) * inner + c);
                    for i in r * self.run..n.min((r + 1).saturating_mul(self.run)) {
                        let joined = join(sum, v[at(o, i, c)]);
                        if !self.totals {
                            placed[at(o, i, c)] = Some(if self.exclusive { sum } else { joined });
                        }
                        sum = joined;
                    }
                    if self.totals {
                        placed[(o * runs + r) * inner + c] = Some(sum);
                    }
                }
            }
        }
        placed.into_iter().flatten().collect()
    }

    /// The result of sums or products.
    pub fn eval(self, cx: &EvalCx<'_>, product: bool) -> Vec<Array> {
        let (x, before, (dtype, shape)) = (cx.arg(0), cx.opt(1), cx.out());
        let y = match &x.data {
            Data::Float(v) => {
                let none = if product { 1.0 } else { 0.0 };
                let first = |r: usize| before.map_or(none, |b| b.as_floats()[r]);
                Array::floats(
                    dtype,
                    shape,
                    self.of(&x.shape, v, first, |a, b| if product { a * b } else { a + b }),
                )
            }
            Data::Int(v) => {
                let first = |r: usize| before.map_or(i64::from(product), |b| b.as_ints()[r]);
                let join = |a: i64, b: i64| if product { a.wrapping_mul(b) } else { a.wrapping_add(b) };
                Array::ints(dtype, shape, self.of(&x.shape, v, first, join))
            }
        };
        vec![y]
    }

    /// Terms of the longest sum.
    pub fn terms(self, cx: &EvalCx<'_>) -> u64 {
        let x = cx.arg(0);
        let (_, n, _) = around(&x.shape, axis_of(self.axis, x.shape.len()));
        n.min(self.run) as u64 + 1
    }

    /// Σ|term| of sums; of products what the roundings of their factors allow.
    pub fn magnitude(self, cx: &EvalCx<'_>, product: bool) -> Vec<f64> {
        let (x, before) = (cx.arg(0), cx.opt(1));
        let v = x.as_floats();
        let first = |r: usize, none: f64| before.map_or(none, |b| b.as_floats()[r].abs());
        if !product {
            return self.of(&x.shape, &absolute(v), |r| first(r, 0.0), |a, b| a + b);
        }
        let class = Tolerance::of_sum(self.terms(cx));
        let products = self.of(&x.shape, &absolute(v), |r| first(r, 1.0), |a, b| a * b);
        let each: Vec<f64> = v.iter().map(|&x| roundings(x)).collect();
        let rounded = self.of(&x.shape, &each, |_| 1.0, |a, b| a + b);
        products.into_iter().zip(rounded).map(|(p, r)| p * of_roundings(r, class)).collect()
    }
}

fn absolute(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| v.abs()).collect()
}

impl From<&ScanRuns> for Walk {
    fn from(op: &ScanRuns) -> Walk {
        let &ScanRuns { axis, run, exclusive, reverse, totals, .. } = op;
        Walk { axis, run: run as usize, exclusive, reverse, totals }
    }
}

impl Eval for ScanRuns {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        Walk::from(self).eval(cx, self.product)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.arg(0).dtype, Walk::from(self).terms(cx))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        Walk::from(self).magnitude(cx, self.product)
    }
}
