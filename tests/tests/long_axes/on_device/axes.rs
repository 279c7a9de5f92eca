//! Sums, means, extrema, products, arg-max, softmaxes and norms along every axis.

use crate::lines::{Axis, close, load, run, uniform};
use pumice_cpu_ref::Tolerance;
use pumice_ir::ops::{LayerNorm, RmsNorm};
use pumice_ir::tensor;
use pumice_tests::Fixture;
use pumice_types::{DType, TensorView};

/// Every axis of 60,000, 70,000 and 300,000 elements; one of 2^24, where lines are cheapest.
fn axes() -> Vec<Axis> {
    let mut all = Vec::new();
    for n in [60_000, 70_000, 300_000] {
        for (outer, inner) in [(1, 2), (2, 1), (2, 3)] {
            all.push(Axis { outer, n, inner });
        }
    }
    all.push(Axis { outer: 1, n: 1 << 24, inner: 1 });
    all
}

/// Factors whose products are exact: twos and halves in turns, and a three at the end of each line.
fn factors(axis: Axis) -> Vec<f32> {
    let factor = |r: usize| match r {
        _ if r + 1 == axis.n => 3.0,
        _ if r.is_multiple_of(997) => {
            if r.is_multiple_of(2) {
                2.0
            } else {
                0.5
            }
        }
        _ => 1.0,
    };
    (0..axis.elements()).map(|i| factor(i / axis.inner % axis.n)).collect()
}

#[test]
fn reductions_are_right() {
    let fixture = Fixture::vulkan();
    for axis in axes() {
        let exe = load(&fixture, |g| {
            let (x, p) = (
                g.input("x", tensor(DType::F32, axis.shape())),
                g.input("p", tensor(DType::F32, axis.shape())),
            );
            g.output("sum", g.reduce_sum(x, &[1], false));
            g.output("mean", g.reduce_mean(x, &[1], false));
            g.output("max", g.reduce_max(x, &[1], false));
            g.output("min", g.reduce_min(x, &[1], false));
            g.output("prod", g.reduce_prod(p, &[1], false));
            g.output("arg_max", g.arg_max(x, 1, false));
        });
        let (mut x, p) = (uniform(axis.elements()), factors(axis));
        for (i, line) in axis.lines().enumerate() {
            // The extrema are among the last.
            (x[line[axis.n - 2]], x[line[axis.n - 5 - i]]) = (-2.0, 2.0);
        }
        let inputs = [("x", TensorView::f32(&x, axis.shape())), ("p", TensorView::f32(&p, axis.shape()))];
        let out = run(&exe, &inputs);
        let floats: Vec<Vec<f32>> = out[..5].iter().map(|t| t.to_vec().expect("f32")).collect();
        let places = out[5].to_vec::<i64>().expect("i64");
        for (i, line) in axis.lines().enumerate() {
            let what = || format!("{axis:?}, line {i}");
            let sum: f64 = line.iter().map(|&at| f64::from(x[at])).sum();
            let size: f64 = line.iter().map(|&at| f64::from(x[at]).abs()).sum();
            close(floats[0][i], sum, size, Tolerance::of_sum(axis.n as u64), what);
            close(
                floats[1][i],
                sum / axis.n as f64,
                size / axis.n as f64,
                Tolerance::of_sum(axis.n as u64),
                what,
            );
            assert_eq!((floats[2][i], floats[3][i]), (2.0, -2.0), "{}", what());
            let product: f64 = line.iter().map(|&at| f64::from(p[at])).product();
            assert_eq!(f64::from(floats[4][i]), product, "{}", what());
            assert_eq!(places[i], (axis.n - 5 - i) as i64, "{}", what());
        }
    }
}

#[test]
fn softmaxes_are_right() {
    let fixture = Fixture::vulkan();
    for axis in axes() {
        let exe = load(&fixture, |g| {
            let x = g.input("x", tensor(DType::F32, axis.shape()));
            g.output("y", g.softmax(x, 1));
            g.output("log", g.log_softmax(x, 1));
        });
        let x = uniform(axis.elements());
        let out = run(&exe, &[("x", TensorView::f32(&x, axis.shape()))]);
        let (y, log) = (out[0].to_vec::<f32>().expect("f32"), out[1].to_vec::<f32>().expect("f32"));
        for (i, line) in axis.lines().enumerate() {
            let sum: f64 = line.iter().map(|&at| f64::from(x[at]).exp()).sum();
            for &at in &line {
                let want = f64::from(x[at]).exp() / sum;
                close(y[at], want, want, 2e-5, || format!("{axis:?}, line {i}, element {at}"));
                close(log[at], want.ln(), want.ln().abs(), 2e-6, || {
                    format!("log, {axis:?}, line {i}, element {at}")
                });
            }
        }
    }
}

/// Norms of the last axes: a row is the whole of [n, inner].
#[test]
fn norms_are_right() {
    let fixture = Fixture::vulkan();
    for axis in axes() {
        let row = [axis.n as u64, axis.inner as u64];
        let exe = load(&fixture, |g| {
            let (x, gamma) =
                (g.input("x", tensor(DType::F32, axis.shape())), g.input("gamma", tensor(DType::F32, row)));
            let beta = g.input("beta", tensor(DType::F32, row));
            let layer = LayerNorm { axis: 1, ..LayerNorm::default() };
            g.output("layer", g.apply_all(layer, &[Some(x), Some(gamma), Some(beta)])[0]);
            g.output("rms", g.apply(RmsNorm { axis: 1, ..RmsNorm::default() }, &[x, gamma]));
        });
        let n = axis.n * axis.inner;
        let (x, gamma, beta) = (uniform(axis.elements()), uniform(n), uniform(n + 7)[7..].to_vec());
        let inputs = [
            ("x", TensorView::f32(&x, axis.shape())),
            ("gamma", TensorView::f32(&gamma, row)),
            ("beta", TensorView::f32(&beta, row)),
        ];
        let out = run(&exe, &inputs);
        let (layer, rms) = (out[0].to_vec::<f32>().expect("f32"), out[1].to_vec::<f32>().expect("f32"));
        for (r, row) in x.chunks(n).enumerate() {
            let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64;
            let square = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / n as f64;
            let variance = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n as f64;
            for (c, &v) in row.iter().enumerate() {
                let (v, g, b) = (f64::from(v), f64::from(gamma[c]), f64::from(beta[c]));
                let what = || format!("{axis:?}, row {r}, element {c}");
                close(layer[r * n + c], (v - mean) / (variance + 1e-5).sqrt() * g + b, 1.0, 3e-5, what);
                close(rms[r * n + c], v / (square + 1e-5).sqrt() * g, 1.0, 3e-5, what);
            }
        }
    }
}
