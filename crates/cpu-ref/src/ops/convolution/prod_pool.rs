//! `ProdPool`.

use super::pool::covered;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::{EPS32, Tolerance};
use pumice_ir::ops::ProdPool;

impl Eval for ProdPool {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, products(self, cx, |p, _| p))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 1)
    }

    /// K factors round a product K times by 2⁻²⁴ of it at most.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let class = Tolerance::of_sum(1);
        products(self, cx, |p, k| p.abs() * (k as f64 * EPS32 / class).max(1.0))
    }
}

/// f of the product under every window, unrounded, and of how many elements it is made.
fn products(op: &ProdPool, cx: &EvalCx<'_>, f: impl Fn(f64, usize) -> f64) -> Vec<f64> {
    let windows = op.windows(cx.out().1.len() - 2).expect("inference has accepted the lists");
    let x = cx.arg(0).as_floats();
    let product = |at: &mut dyn Iterator<Item = usize>| at.fold((1.0, 0), |(p, k), i| (p * x[i], k + 1));
    covered(cx, &windows).map(|mut at| product(&mut at)).map(|(p, k)| f(p, k)).collect()
}
