//! `Fft`, by recursion over the prime factors of the length.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::lines::Lines;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Fft;
use pumice_ir::ops::fft::FftNorm;
use pumice_types::DimExpr;
use std::f64::consts::FRAC_PI_2;

/// A complex number.
pub(super) type Complex = (f64, f64);

/// The largest prime of whose lengths a device makes passes; others are convolutions.
const LARGEST_OF_PASSES: usize = 251;

impl Eval for Fft {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let result = transformed(self, cx, |line, n| match all_finite(line) {
            true => transform(line, n, self.inverse),
            false => vec![(f64::NAN, f64::NAN); n],
        });
        vec![Array::floats(dtype, shape, result)]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let n = length(self, cx).max(1);
        let left = (2..=LARGEST_OF_PASSES).fold(n, without);
        Tolerance::transform(n as u64, if left > 1 { 4.0 } else { 1.0 })
    }

    /// ‖x‖₂ of the line, times the norm's factor, for every result.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        transformed(self, cx, |line, n| {
            let length = line.iter().map(|z| z.0 * z.0 + z.1 * z.1).sum::<f64>().sqrt();
            vec![(length, length); n]
        })
    }
}

/// What is left of n without the factors p.
fn without(mut n: usize, p: usize) -> usize {
    while n.is_multiple_of(p) {
        n /= p;
    }
    n
}

pub(super) fn all_finite(line: &[Complex]) -> bool {
    line.iter().all(|z| z.0.is_finite() && z.1.is_finite())
}

pub(super) fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// e^(∓2πim/n), m < n: exact at quarter turns.
pub(super) fn root(m: u64, n: u64, inverse: bool) -> Complex {
    let (quarter, left) = (4 * m / n, 4 * m % n);
    let (s, c) = (FRAC_PI_2 * left as f64 / n as f64).sin_cos();
    let (c, s) = match quarter % 4 {
        0 => (c, s),
        1 => (-s, c),
        2 => (-c, -s),
        _ => (s, -c),
    };
    (c, if inverse { s } else { -s })
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
pub(super) fn mirror(line: &mut [Complex], given: usize) {
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
pub(super) fn transform(x: &[Complex], n: usize, inverse: bool) -> Vec<Complex> {
    let p = smallest_factor(n);
    if n == 1 {
        return x.to_vec();
    }
    let m = n / p;
    let parts: Vec<Vec<Complex>> = (0..p)
        .map(|r| {
            let every: Vec<Complex> = x.iter().skip(r).step_by(p).copied().collect();
            if m == 1 { every } else { transform(&every, m, inverse) }
        })
        .collect();
    let roots: Vec<Complex> = (0..n as u64).map(|k| root(k, n as u64, inverse)).collect();
    let mut y = vec![(0.0, 0.0); n];
    for (k, y) in y.iter_mut().enumerate() {
        for (r, part) in parts.iter().enumerate() {
            let z = times(roots[r * k % n], part[k % m]);
            *y = (y.0 + z.0, y.1 + z.1);
        }
    }
    y
}

fn smallest_factor(n: usize) -> usize {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n.max(1))
}
