//! `NormSums`: element by element.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of, count};
use crate::tolerance::Tolerance;
use pumice_ir::ops::NormSums;

impl Eval for NormSums {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let turned = sums(self, cx, |x, dy, inverse, mean| dy * (x - mean) * inverse);
        let plain = sums(self, cx, |_, dy, _, _| dy);
        [turned, plain]
            .into_iter()
            .zip(cx.outputs)
            .map(|(values, (dtype, shape))| Array::floats(*dtype, shape, values))
            .collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, self.run)
    }

    /// Σ |dy|·(|x| + |mean|)·|inverse|: the difference may cancel. Σ |dy|.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        match cx.result {
            0 => sums(self, cx, |x, dy, inverse, mean| dy.abs() * (x.abs() + mean.abs()) * inverse.abs()),
            _ => sums(self, cx, |_, dy, _, _| dy.abs()),
        }
    }
}

/// Sums over runs of what this makes of x, dy, inverse and mean.
fn sums(op: &NormSums, cx: &EvalCx<'_>, f: impl Fn(f64, f64, f64, f64) -> f64) -> Vec<f64> {
    let (x, dy) = (cx.arg(0), cx.arg(1));
    let shape = &x.shape;
    let [axis, of] = [op.axis, op.of].map(|axis| axis_of(axis, shape.len()));
    let (_, n, inner) = around(shape, axis);
    let (_, places, after) = around(shape, of);
    let run = op.run as usize;
    let runs = n.div_ceil(run);
    let inverse = cx.arg(2).as_floats();
    let mean = cx.opt(3).map(Array::as_floats);
    let mut y = vec![0.0; count(&shape[..axis]) * runs * inner];
    for (i, (&x, &dy)) in x.as_floats().iter().zip(dy.as_floats()).enumerate() {
        let (outer, place, column) = (i / (n * inner), i / inner % n, i % inner);
        let statistics = i / after % places;
        let mean = mean.map_or(0.0, |mean| mean[statistics]);
        y[(outer * runs + place / run) * inner + column] += f(x, dy, inverse[statistics], mean);
    }
    y
}
