//! `FftPass`: each of its sums as a transform of values that are turned first.

use super::fft::{Complex, all_finite, mirror, root, times, transform};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::lines::Lines;
use crate::tolerance::Tolerance;
use pumice_ir::ops::FftPass;
use std::iter::repeat;

impl Eval for FftPass {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let turned = (self.done * self.radix) as u64;
        let result = passed(self, cx, |part, k| {
            if !all_finite(part) {
                return vec![(f64::NAN, f64::NAN); part.len()];
            }
            let turn =
                |(r, &z): (usize, &Complex)| times(z, root(r as u64 * k % turned, turned, self.inverse));
            let part: Vec<Complex> = part.iter().enumerate().map(turn).collect();
            transform(&part, part.len(), self.inverse)
        });
        vec![Array::floats(dtype, shape, result)]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, self.radix as u64)
    }

    /// The length of the vector that is summed, times the factor, for every result.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let lengths = passed(self, cx, |part, _| {
            let length = part.iter().map(|z| z.0 * z.0 + z.1 * z.1).sum::<f64>().sqrt();
            vec![(length, length); part.len()]
        });
        lengths.into_iter().map(f64::abs).collect()
    }
}

/// The values of every sum through `f`, with the line's k, at the places of their results in those that are kept.
fn passed(op: &FftPass, cx: &EvalCx<'_>, f: impl Fn(&[Complex], u64) -> Vec<Complex>) -> Vec<f64> {
    let (x, (_, shape)) = (cx.arg(0), cx.out());
    let axis = axis_of(op.axis, x.shape.len());
    let (given, made) = (Lines::of(&x.shape, axis), Lines::of(shape, axis));
    let [n, radix, done] = [op.length, op.radix, op.done].map(|v| v as usize);
    let factor = f64::from(op.factor);
    let mut y = vec![0.0; made.len()];
    for which in given.all() {
        let line = values(op, cx, &given, which);
        for j in 0..n / radix {
            let part: Vec<Complex> = (0..radix).map(|r| line[r * (n / radix) + j]).collect();
            let first = j / done * done * radix + j % done;
            for (s, z) in f(&part, (j % done) as u64).into_iter().enumerate() {
                let k = first + s * done;
                if k < made.rows {
                    made.write(&mut y, which, k, (z.0 * factor, z.1 * factor));
                }
            }
        }
    }
    y
}

/// All values of a line.
fn values(op: &FftPass, cx: &EvalCx<'_>, given: &Lines, which: (usize, usize)) -> Vec<Complex> {
    let x = cx.arg(0).as_floats();
    let mut line: Vec<Complex> = (0..given.rows).map(|r| given.read(x, which, r)).collect();
    line.resize(op.length as usize, (0.0, 0.0));
    if op.mirrored {
        mirror(&mut line, given.rows);
    }
    let Some(by) = cx.opt(1) else { return line };
    // Past the values that are given there need be none: they are 0.
    let by = by.as_floats().chunks_exact(2).map(|z| (z[0], z[1])).chain(repeat((1.0, 0.0)));
    line.into_iter().zip(by).map(|(z, by)| times(z, by)).collect()
}
