//! Random numbers of a distribution, draws, penalties, routers of 16-bit logits.

use super::{FLOATS, all_near, all_pass};
use pumice_ir::ops::TopKMoeRouter;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::sample::SampleOptions;
use pumice_ir::sample::Fill;
use pumice_ir::{Sample, f32, i32, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

pub fn numbers(runner: &Runner) {
    let ranges = [(0.0, 1.0), (-1.0, 1.0), (2.0, 2.5), (-70_000.0, -60_000.0)];
    let mut samples: Vec<Sample> = FLOATS
        .iter()
        .flat_map(|&dtype| ranges.map(|(low, high)| (dtype, low, high)))
        .filter(|&(dtype, low, _)| dtype != DType::F16 || low > -65_000.0)
        .map(|(dtype, low, high)| {
            Sample::graph(&format!("{dtype} from {low} to {high}"), |g| {
                let op = RandomUniform { low, high, dtype, stream: None };
                g.output("y", g.random_uniform([5u64, 77], None, op));
                let op = RandomUniform { stream: Some(9), ..op };
                g.output(
                    "like",
                    g.random_uniform_like(g.input("x", tensor(dtype, [sym("n", 0..=9)])), None, op),
                );
            })
            .bind("n", 7)
        })
        .collect();
    samples.extend(FLOATS.map(|dtype| {
        Sample::graph(&format!("{dtype} normal"), |g| {
            let op = RandomNormal { mean: -1.5, scale: 0.25, dtype, stream: None };
            g.output("y", g.random_normal([5u64, 77], None, op));
            g.output("all alike", g.random_normal([6u64], None, RandomNormal { scale: 0.0, ..op }));
            let x = g.input("x", tensor(dtype, [3, 2]));
            g.output("like", g.random_normal_like(x, None, RandomNormal::default()));
        })
    }));
    all_near(runner, "random", 1e-6, samples);
}

/// Logits far enough apart that no device draws another.
pub fn draws(runner: &Runner) {
    let case = |dtype: DType, [rows, v]: [u64; 2], filters: [bool; 4]| {
        let sample = Sample::graph(&format!("{dtype} {rows} of {v}, {filters:?}"), |g| {
            let logits = g.input("logits", tensor(dtype, [rows, v]));
            let float = |i: usize, name: &str| filters[i].then(|| g.input(name, f32([rows])));
            let options = SampleOptions {
                temperature: float(0, "temperature"),
                top_k: filters[1].then(|| g.input("top_k", i32::<u64>([]))),
                top_p: float(2, "top_p"),
                min_p: float(3, "min_p"),
                ..SampleOptions::default()
            };
            let (id, logprob) = g.sample(logits, options);
            g.output("id", id);
            g.output("logprob", logprob);
        });
        let sample = sample.fill("temperature", Fill::Floats(vec![0.5, 1.0, 0.0, 2.0]));
        let sample =
            sample.fill("top_k", Fill::Constant(7.0)).fill("top_p", Fill::Floats(vec![0.9, 0.3, 1.0]));
        sample.fill("min_p", Fill::Floats(vec![0.05, 0.5, 0.0])).fill("logits", Fill::Range(-9, 9))
    };
    let mut samples: Vec<Sample> = FLOATS.map(|d| case(d, [9, 40], [true; 4])).into();
    samples.extend([
        case(DType::F32, [1, 1], [true; 4]),
        case(DType::F32, [0, 3], [true; 4]),
        case(DType::F32, [3, 5000], [false; 4]),
        case(DType::F32, [2, 3000], [true, false, true, false]),
    ]);
    let infinite = Fill::Floats(vec![0.0, f64::INFINITY, f64::NEG_INFINITY, 3.0, f64::INFINITY, 1.0, 2.0]);
    samples.push(case(DType::F32, [4, 9], [false; 4]).fill("logits", infinite));
    let nan = Fill::Floats(vec![0.0, f64::NAN, 1.0]);
    samples.push(case(DType::F32, [2, 5], [true; 4]).fill("logits", nan).expect_status());
    let none = case(DType::F32, [2, 5], [false; 4]).fill("logits", Fill::Constant(f64::NEG_INFINITY));
    samples.push(none.expect_status());
    all_near(runner, "sample", 1e-6, samples);
}

pub fn penalties(runner: &Runner) {
    let case = |dtype: DType, shape: [u64; 2], by_row: bool| {
        let sample = Sample::graph(&format!("{dtype} {shape:?}, by row {by_row}"), |g| {
            let [rows, v] = shape;
            let logits = g.input("logits", tensor(dtype, shape));
            let counts = g.token_counts(g.input("history", i32([rows, 6])), v);
            g.output("counts", counts);
            let of_penalty: &[u64] = if by_row { &[rows] } else { &[] };
            let penalty = g.input("penalty", tensor(dtype, of_penalty.iter().copied()));
            g.output("less", g.repetition_penalty(logits, counts, penalty));
            let (ids, bias) = (g.input("ids", i32([4])), g.input("bias", tensor(dtype, [4])));
            g.output("biased", g.logit_bias(logits, ids, bias));
        });
        let sample =
            sample.fill("history", Fill::Range(-3, shape[1] as i64)).fill("penalty", Fill::Uniform(1.1, 1.5));
        let bias = Fill::Floats(vec![-5.0, f64::NEG_INFINITY, 2.0, 0.5]);
        sample.fill("ids", Fill::Ints(vec![0, 3, -1, 0])).fill("bias", bias)
    };
    let mut samples: Vec<Sample> = FLOATS.map(|d| case(d, [3, 30], true)).into();
    samples.extend([case(DType::F32, [1, 4], false), case(DType::F32, [2, 700], false)]);
    let outside = case(DType::F32, [2, 5], false).fill("history", Fill::Ints(vec![0, 1, 5, -6, 2, 3]));
    samples.push(outside.expect_status());
    all_pass(runner, "penalties", samples);
}

pub fn routers(runner: &Runner) {
    let samples = FLOATS.map(|dtype| {
        Sample::graph(&format!("{dtype}"), |g| {
            let logits = g.input("logits", tensor(dtype, [7, 40]));
            let bias = g.input("bias", tensor(dtype, [40]));
            let op = TopKMoeRouter { k: 6, norm: true, scale: 2.5, ..TopKMoeRouter::default() };
            let (weights, experts) = g.top_k_moe_router(logits, Some(bias), op);
            g.output("weights", weights);
            g.output("experts", experts);
        })
        .fill("bias", Fill::Uniform(-0.1, 0.1))
    });
    all_pass(runner, "top_k_moe_router", samples.into());
}
