//! Equal terms of one sign, whose roundings add up where a kernel adds term after term: random signs hide that.
//! Products of 4,096 such terms were 5.6e-5 of their sum off, 257 x 8192 x 33 and sums of a column of 1,048,576 rows 28
//! times what T2 allows, attention over 9,000 keys 14 times. Judged by T2, with the kernels of the device and those
//! that a GPU's table selects.

use crate::lines::run;
use pumice_compile::{Options, compile};
use pumice_cpu_ref::{RefEval, Tolerance};
use pumice_ir::ops::{Attention, MatMul, RmsNorm};
use pumice_ir::{GraphBuilder, tensor};
use pumice_tests::Fixture;
use pumice_types::{DType, Scheme, Target, Tensor, TensorView};

const THIRD: f32 = 1.0 / 3.0;

/// Results of a graph with the kernels of the device, and with those of an H200.
fn results(
    fixture: &Fixture,
    build: impl Fn(&GraphBuilder),
    inputs: &[(&str, TensorView<'_>)],
) -> Vec<Vec<Tensor>> {
    let own = fixture.device.target().clone();
    let other = own.selecting_as(&Target::h200());
    let plan = |target: &Target| {
        let g = GraphBuilder::new("equal terms");
        build(&g);
        compile(&g.build().expect("sound"), target, &Options::default(), &RefEval).expect("compiles")
    };
    [own, other].iter().map(|target| run(&fixture.load(plan(target)), inputs)).collect()
}

/// Asserts that every element of the result is `want` within T2 of `k` terms, whose sizes add up to `size`.
#[track_caller]
fn all_are(results: &[Vec<Tensor>], output: usize, want: f64, size: f64, k: u64, what: &str) {
    for (of, outputs) in ["the device's kernels", "a GPU's"].iter().zip(results) {
        let values = outputs[output].to_vec::<f32>().expect("f32");
        let off = values.iter().map(|&v| (f64::from(v) - want).abs()).fold(0.0, f64::max);
        let allowed = Tolerance::Sum { k, more: 0.0 }.allowance(DType::F32, want, size);
        assert!(
            off <= allowed,
            "{what}, {of}: {off:e} off {want}, {:.2} times what T2 allows",
            off / allowed
        );
    }
}

fn product(fixture: &Fixture, m: u64, n: u64, k: u64, along: bool) {
    let (shape_a, shape_b) = ([m, k], if along { [n, k] } else { [k, n] });
    let build = |g: &GraphBuilder| {
        let (a, b) = (g.input("a", tensor(DType::F32, shape_a)), g.input("b", tensor(DType::F32, shape_b)));
        g.output("y", g.apply(MatMul { trans_b: along, ..MatMul::default() }, &[a, b]));
    };
    let (a, b) = (vec![THIRD; (m * k) as usize], vec![THIRD; (n * k) as usize]);
    let inputs = [("a", TensorView::f32(&a, shape_a)), ("b", TensorView::f32(&b, shape_b))];
    let want = k as f64 * f64::from(THIRD).powi(2);
    all_are(
        &results(fixture, build, &inputs),
        0,
        want,
        want,
        k,
        &format!("{m} x {k} x {n}, along k: {along}"),
    );
}

#[test]
fn products() {
    let fixture = Fixture::vulkan();
    for along in [false, true] {
        for (m, n) in [(1, 5), (3, 40), (6, 33), (24, 40), (40, 72), (130, 65)] {
            product(&fixture, m, n, 4096, along);
        }
        product(&fixture, 257, 33, 8192, along);
        product(&fixture, 4, 2, 60_000, along);
        product(&fixture, 20, 34, 50_000, along);
        product(&fixture, 1, 1, 1 << 20, along);
    }
}

/// The right operand in blocks of q8_0, all of whose values are equal.
#[test]
fn products_over_blocks() {
    let (fixture, n) = (Fixture::vulkan(), 33);
    // A block: a scale of 1/256 as f16, then 32 numbers.
    let block: Vec<u8> = [0x00u8, 0x1c].into_iter().chain([85u8; 32]).collect();
    let value = 85.0 / 256.0;
    for (m, k) in [(1u64, 8192u64), (5, 16_384), (257, 8192)] {
        let g = GraphBuilder::new("blocks");
        let (a, w) = (g.input("a", tensor(DType::F32, [m, k])), g.param("w", tensor(Scheme::Q8_0, [n, k])));
        g.output("y", g.linear(a, g.dequantize(w), None));
        let graph = g.build().expect("sound");
        let own = fixture.device.target().clone();
        let other = own.selecting_as(&Target::h200());
        let a = vec![THIRD; (m * k) as usize];
        let (shape, bytes) = ([n, k], block.repeat((n * k / 32) as usize));
        let results: Vec<Vec<Tensor>> = [own, other]
            .iter()
            .map(|target| {
                let exe =
                    fixture.load(compile(&graph, target, &Options::default(), &RefEval).expect("compiles"));
                let blocks = TensorView::new(Scheme::Q8_0, &shape, &bytes).expect("whole blocks");
                exe.set_param_view("w", blocks).expect("a param");
                run(&exe, &[("a", TensorView::f32(&a, [m, k]))])
            })
            .collect();
        let want = k as f64 * f64::from(THIRD) * value;
        all_are(&results, 0, want, want, k, &format!("{m} x {k} x {n} over q8_0"));
    }
}

/// Sums of rows, of columns and of axes that lie apart.
#[test]
fn reductions() {
    let fixture = Fixture::vulkan();
    for shape in [[1u64, 1 << 20, 1], [1, 1 << 20, 3], [2, 1 << 18, 8], [3, 40_000, 1], [600, 2, 700]] {
        let apart = shape[1] == 2;
        let axes: &[i64] = if apart { &[0, 2] } else { &[1] };
        let k = if apart { shape[0] * shape[2] } else { shape[1] };
        let build = |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, shape));
            g.output("sum", g.reduce_sum(x, axes, false));
            g.output("mean", g.reduce_mean(x, axes, false));
        };
        let x = vec![THIRD; shape.iter().product::<u64>() as usize];
        let results = results(&fixture, build, &[("x", TensorView::f32(&x, shape))]);
        let (want, what) = (k as f64 * f64::from(THIRD), format!("{shape:?}"));
        all_are(&results, 0, want, want, k, &what);
        all_are(&results, 1, f64::from(THIRD), f64::from(THIRD), k, &what);
    }
}

/// Norms and softmaxes of long rows, and a softmax along an inner axis. A root mean square halves what its sum is off.
#[test]
fn rows() {
    let fixture = Fixture::vulkan();
    for n in [4096u64, 40_000, 300_000] {
        let shape = [2u64, n];
        let build = |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, shape));
            let one = g.input("one", tensor(DType::F32, [n]));
            g.output("softmax", g.softmax(x, 1));
            g.output("columns", g.softmax(g.transpose(x, &[1, 0]), 0));
            g.output("rms", g.apply(RmsNorm { epsilon: 0.0, ..RmsNorm::default() }, &[x, one]));
        };
        let (x, one) = (vec![THIRD; 2 * n as usize], vec![1.0; n as usize]);
        let inputs = [("x", TensorView::f32(&x, shape)), ("one", TensorView::f32(&one, [n]))];
        let results = results(&fixture, build, &inputs);
        let (share, what) = (1.0 / n as f64, format!("{n} in a row"));
        all_are(&results, 0, share, share, n, &what);
        all_are(&results, 1, share, share, n, &what);
        all_are(&results, 2, 1.0, 1.0, n, &what);
    }
}

/// Equal scores and equal values: for few queries and for many, of widths for every form.
#[test]
fn attention() {
    let fixture = Fixture::vulkan();
    for (queries, width) in [(1u64, 64u64), (8, 32), (40, 32), (40, 64), (33, 128), (20, 200)] {
        let keys = 9_000u64;
        let (few, all) = ([1u64, 1, queries, width], [1u64, 1, keys, width]);
        let build = |g: &GraphBuilder| {
            let q = g.input("q", tensor(DType::F32, few));
            let (k, v) = (g.input("k", tensor(DType::F32, all)), g.input("v", tensor(DType::F32, all)));
            g.output("y", g.attention(q, k, v, None, None, Attention::default()));
        };
        let (q, k) = (vec![THIRD; (queries * width) as usize], vec![THIRD; (keys * width) as usize]);
        let inputs = [
            ("q", TensorView::f32(&q, few)),
            ("k", TensorView::f32(&k, all)),
            ("v", TensorView::f32(&k, all)),
        ];
        let want = f64::from(THIRD);
        let what = format!("{queries} queries of {width}");
        all_are(&results(&fixture, build, &inputs), 0, want, want, keys, &what);
    }
}
