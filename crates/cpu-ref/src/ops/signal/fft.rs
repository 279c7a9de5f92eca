//! `Fft`, by recursion over the prime factors of the length.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::lines::Lines;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Fft;
use pumice_ir::ops::fft::FftNorm;
use pumice_types::DimExpr;
use std::f64::consts::TAU;

/// A complex number.
type Complex = (f64, f64);

impl Eval for Fft {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let all_finite = |line: &[Complex]| line.iter().all(|z| z.0.is_finite() && z.1.is_finite());
        let result = transformed(self, cx, |line, n| match all_finite(line) {
            true => transform(line, n, self.inverse),
            false => vec![(f64::NAN, f64::NAN); n],
        });
        vec![Array::floats(dtype, shape, result)]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, length(self, cx) as u64)
    }

    /// Σ|x| of the line, times the norm's factor, for every result.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        transformed(self, cx, |line, n| {
            let sum: f64 = line.iter().map(|x| x.0.abs() + x.1.abs()).sum();
            vec![(sum, sum); n]
        })
    }
}

fn length(op: &Fft, cx: &EvalCx<'_>) -> usize {
    let x = cx.arg(0);
    let n = DimExpr::from(x.shape[axis_of(op.axis, x.shape.len())]);
    op.length(&n).as_extent().unwrap_or(0) as usize
}

/// Every line of x along the axis through `f(line, N)`, scaled, in the shape of the result.
fn transformed(op: &Fft, cx: &EvalCx<'_>, f: impl Fn(&[Complex], usize) -> Vec<Complex>) -> Vec<f64> {
    let (x, (_, shape)) = (cx.arg(0), cx.out());
    let axis = axis_of(op.axis, x.shape.len());
    let (given, made, n) = (Lines::of(&x.shape, axis), Lines::of(shape, axis), length(op, cx));
    let factor = scale(op, n);
    let mut y = vec![0.0; made.len()];
    for which in given.all() {
        let mut line: Vec<Complex> =
            (0..given.rows.min(n)).map(|r| given.read(x.as_floats(), which, r)).collect();
        line.resize(n, (0.0, 0.0));
        if op.inverse && op.onesided {
            mirror(&mut line, given.rows);
        }
        let result = if n == 0 { Vec::new() } else { f(&line, n) };
        for (k, z) in result.into_iter().take(made.rows).enumerate() {
            made.write(&mut y, which, k, (z.0 * factor, z.1 * factor));
        }
    }
    y
}

/// The other half of a spectrum of real values: X_{N−k} is the conjugate of X_k; the parts that cannot be imaginary
/// are not.
fn mirror(line: &mut [Complex], given: usize) {
    let n = line.len();
    for k in 0..n {
        if k > n / 2 {
            let z = line[n - k];
            line[k] = (z.0, -z.1);
        } else if k >= given {
            line[k] = (0.0, 0.0);
        } else if k == 0 || 2 * k == n {
            line[k].1 = 0.0;
        }
    }
}

fn scale(op: &Fft, n: usize) -> f64 {
    let n = n.max(1) as f64;
    match (op.norm, op.inverse) {
        (FftNorm::Ortho, _) => 1.0 / n.sqrt(),
        (FftNorm::Backward, true) | (FftNorm::Forward, false) => 1.0 / n,
        _ => 1.0,
    }
}

/// X_k = Σ x_j e^(∓2πijk/n). With n = p·m, p the smallest prime factor, X_k = Σ_r w^{rk}·F_r(k mod m), F_r the
/// transform of every p-th value from r on: n·(sum of the prime factors) operations.
fn transform(x: &[Complex], n: usize, inverse: bool) -> Vec<Complex> {
    let p = smallest_factor(n);
    if n == 1 {
        return x.to_vec();
    }
    let sign = if inverse { 1.0 } else { -1.0 };
    let m = n / p;
    let parts: Vec<Vec<Complex>> = (0..p)
        .map(|r| {
            let every: Vec<Complex> = x.iter().skip(r).step_by(p).copied().collect();
            if m == 1 { every } else { transform(&every, m, inverse) }
        })
        .collect();
    let roots: Vec<Complex> =
        (0..n).map(|k| (sign * TAU * k as f64 / n as f64).sin_cos()).map(|(s, c)| (c, s)).collect();
    let mut y = vec![(0.0, 0.0); n];
    for (k, y) in y.iter_mut().enumerate() {
        for (r, part) in parts.iter().enumerate() {
            let (w, z) = (roots[r * k % n], part[k % m]);
            *y = (y.0 + w.0 * z.0 - w.1 * z.1, y.1 + w.0 * z.1 + w.1 * z.0);
        }
    }
    y
}

fn smallest_factor(n: usize) -> usize {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n.max(1))
}
