//! For every kernel with a loop, the cheapest shape that its threads alone would iterate too long for: each was wrong
//! on lavapipe before, and is now shared among more threads, cut, or made of other kernels.

use crate::lines::{close, load, run, uniform};
use pumice_cpu_ref::Tolerance;
use pumice_ir::ops::{Attention, RmsNorm};
use pumice_ir::{GraphBuilder, tensor};
use pumice_tests::Fixture;
use pumice_types::{DType, DimExpr, TensorView};

fn sum(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v)).sum()
}

/// `reduce_strided`: axes with another between them.
#[test]
fn axes_apart() {
    let shape = [4099u64, 2, 4100];
    let exe = load(&Fixture::vulkan(), |g| {
        let x = g.input("x", tensor(DType::F32, shape));
        g.output("mean", g.reduce_mean(x, &[0, 2], false));
    });
    let x = uniform(4099 * 2 * 4100);
    let out = run(&exe, &[("x", TensorView::f32(&x, shape))]);
    let mean = out[0].to_vec::<f32>().expect("f32");
    for (c, &mean) in mean.iter().enumerate() {
        let line: f64 = x.chunks(4100).skip(c).step_by(2).map(sum).sum();
        close(mean, line / (4099.0 * 4100.0), 0.5, 1e-5, || "mean".into());
    }
}

/// `reduce_int`, also in the load program; `arg_reduce` over a row that is no multiple of four.
#[test]
fn integers_and_places() {
    const N: usize = (1 << 24) + 12_345;
    let fixture = Fixture::vulkan();
    let values: Vec<i32> = (0..N).map(|i| (i % 1000) as i32 - 400).collect();
    let exe = load(&fixture, |g| {
        let (x, w) =
            (g.input("x", tensor(DType::I32, [N as u64])), g.param("w", tensor(DType::I32, [N as u64])));
        g.output("sum", g.reduce_sum(x, &[], false));
        g.output("max", g.reduce_max(x, &[], false));
        g.output("of_param", g.reduce_sum(w, &[], false));
    });
    exe.set_param_view("w", TensorView::i32(&values, [N as u64])).expect("a param");
    let out = run(&exe, &[("x", TensorView::i32(&values, [N as u64]))]);
    let want = values.iter().fold(0i32, |s, v| s.wrapping_add(*v));
    let got: Vec<i32> = out.iter().map(|t| t.to_vec::<i32>().expect("i32")[0]).collect();
    assert_eq!(got, [want, 599, want]);

    const LONG: usize = 67_108_865;
    let exe = load(&fixture, |g| {
        let x = g.input("x", tensor(DType::F32, [LONG as u64]));
        g.output("place", g.arg_max(x, 0, false));
    });
    let mut x = vec![0.5f32; LONG];
    x[LONG - 2] = 1.0;
    let out = run(&exe, &[("x", TensorView::f32(&x, [LONG as u64]))]);
    assert_eq!(out[0].to_vec::<i64>().expect("i64"), [LONG as i64 - 2]);
}

/// `softmax_rows` and the norms: a row that 256 threads would walk two or three times.
#[test]
fn long_rows() {
    const N: usize = 33_600_000;
    let shape = [1, N as u64];
    let exe = load(&Fixture::vulkan(), |g| {
        let x = g.input("x", tensor(DType::F32, shape));
        let one = g.reduce_max(x, &[1], true);
        g.output("log", g.slice_last(g.log_softmax(x, 1)));
        g.output(
            "rms",
            g.slice_last(g.apply(RmsNorm { axis: 1, epsilon: 0.0, ..RmsNorm::default() }, &[x, one])),
        );
        g.output("layer", g.slice_last(g.layer_norm(x, one, None, 0.0)));
    });
    let x = uniform(N);
    let out = run(&exe, &[("x", TensorView::f32(&x, shape))]);
    let (n, most) = (N as f64, f64::from(x.iter().copied().fold(0.0f32, f32::max)));
    let exps: f64 = x.iter().map(|&v| f64::from(v).exp()).sum();
    let (mean, square) = (sum(&x) / n, x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / n);
    let got: Vec<Vec<f32>> = out.iter().map(|t| t.to_vec().expect("f32")).collect();
    for (i, &v) in x[N - 1000..].iter().enumerate() {
        let v = f64::from(v);
        close(got[0][i], v - exps.ln(), exps.ln(), 2e-6, || "log-softmax".into());
        close(got[1][i], v / square.sqrt() * most, 1.0, 1e-5, || "RMS norm".into());
        close(got[2][i], (v - mean) / (square - mean * mean).sqrt() * most, 1.0, 3e-5, || {
            "layer norm".into()
        });
    }
}

/// The last thousand of a row.
trait LastThousand {
    fn slice_last(&self, x: pumice_ir::Value) -> pumice_ir::Value;
}

impl LastThousand for GraphBuilder {
    fn slice_last(&self, x: pumice_ir::Value) -> pumice_ir::Value {
        let n = self.dim_of(x, 1);
        self.narrow(x, 1, n - DimExpr::constant(1000), 1000u64)
    }
}

/// `attention`: more keys than its lanes would walk. All weights are equal, values count their keys.
#[test]
fn many_keys() {
    const KEYS: usize = 264_000;
    let (one, all) = ([1u64, 1, 1, 4], [1u64, 1, KEYS as u64, 4]);
    let exe = load(&Fixture::vulkan(), |g| {
        let q = g.input("q", tensor(DType::F32, one));
        let (k, v) = (g.input("k", tensor(DType::F32, all)), g.input("v", tensor(DType::F32, all)));
        g.output("y", g.attention(q, k, v, None, None, Attention::default()));
    });
    let (q, k, v) = ([0.0f32; 4], uniform(4 * KEYS), uniform(4 * KEYS + 3)[3..].to_vec());
    let inputs =
        [("q", TensorView::f32(&q, one)), ("k", TensorView::f32(&k, all)), ("v", TensorView::f32(&v, all))];
    let y = run(&exe, &inputs)[0].to_vec::<f32>().expect("f32");
    for (c, &y) in y.iter().enumerate() {
        let mean = v.iter().skip(c).step_by(4).map(|&v| f64::from(v)).sum::<f64>() / KEYS as f64;
        close(y, mean, mean, Tolerance::of_sum(KEYS as u64), || "a column".into());
    }
}

/// `reduce_rows` in the load program, where nothing is cut for speed: 1 GiB of params.
#[test]
#[ignore = "long: a param of 1 GiB"]
fn long_params() {
    const N: usize = 1 << 28;
    let exe = load(&Fixture::vulkan(), |g| {
        let w = g.param("w", tensor(DType::F32, [N as u64]));
        g.output("sum", g.reduce_sum(w, &[], false));
        g.output("mean", g.reduce_mean(w, &[], false));
        g.output("max", g.reduce_max(w, &[], false));
    });
    let mut w = uniform(N);
    w[N - 1] = 7.0;
    exe.set_param("w", &w).expect("a param");
    let want = sum(&w);
    drop(w);
    let got: Vec<f32> = run(&exe, &[]).iter().map(|t| t.to_vec::<f32>().expect("f32")[0]).collect();
    close(got[0], want, want, 1e-5, || "sum".into());
    close(got[1], want / N as f64, 0.5, 1e-5, || "mean".into());
    assert_eq!(got[2], 7.0);
}
