//! Methods of the builder that are made of ops: their graphs on the interpreter and on a device, against the evaluator.

mod calls;
mod chance;
mod found;
mod images;
mod loaded;
mod loops;
mod movement;
mod order;
mod products;
mod refused_runs;
mod rows;
mod signals;
mod unlike;

use calls::calls;
use chance::{draws, numbers, penalties, routers};
use found::{ranges, suppressions, uniques};
use images::{matrices_of_windows, places_of_largest, resamplings, shared_pools};
use loaded::loaded_reductions;
use loops::{cells, collecting_loops, collecting_whiles, scans};
use movement::{
    blocks_of_pixels, diagonals, extents, fills, one_hots, padded_convolutions, reversals, stacks, tiles,
    triangles,
};
use order::{distances, neighbours, rows_by_index, sorts};
use products::{adapters, products_over_axes, scaled_products};
use pumice_cpu_ref::{Array, Reference};
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::binary_cross_entropy::BinaryCrossEntropy;
use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
use pumice_ir::ops::huber::Huber;
use pumice_ir::ops::kl_div::KlDiv;
use pumice_ir::ops::l1::L1;
use pumice_ir::ops::mse::Mse;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, bool_, sym, tensor};
use pumice_tests::op_suite::{Case, Outcome, Runner};
use pumice_types::DType;
use rows::losses_of_rows;
use signals::{averages, frames, log_mels, mels, peaks, whisper, windows};
use unlike::unlike_extents;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Largest values of the samples here.
const MOST_ELEMENTS: u64 = 1 << 18;

/// Every sample passes; all that do not are told.
fn all_pass(runner: &Runner, method: &'static str, samples: Vec<Sample>) {
    let count = samples.len();
    let told = samples.into_iter().filter_map(|sample| {
        let case = Case::new(method, sample);
        match runner.run(&case) {
            Outcome::Passed => None,
            other => Some(format!("{}: {other:?}", case.name())),
        }
    });
    let told: Vec<String> = told.collect();
    assert!(told.is_empty(), "{} of {count}:\n{}", told.len(), told.join("\n"));
}

/// Every sample is near to the evaluator: within `share` of a value, of 1 for smaller ones. For sums of logarithms:
/// parts are rounded before they are added, and an error that each class allows may turn the last rounding.
fn all_near(runner: &Runner, method: &'static str, share: f64, samples: Vec<Sample>) {
    for sample in samples {
        let graph = sample.graph.clone().expect("a graph");
        let reference = Reference::new(&sample, &graph).expect("it has a value");
        let case = Case::new(method, sample);
        let plan = runner.plan(&graph).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let outputs = runner.outputs(&case, plan).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let want = &reference.run(0).expect("one run").outputs;
        assert_eq!(outputs.len(), want.len());
        for (got, want) in outputs.iter().map(Array::from_tensor).zip(want) {
            assert_eq!((got.dtype, &got.shape), (want.dtype, &want.shape), "{}", case.name());
            let unit = match got.dtype {
                DType::F16 => 1.0 / 1024.0,
                DType::BF16 => 1.0 / 128.0,
                _ => share,
            };
            for (a, b) in got.to_f64().into_iter().zip(want.to_f64()) {
                let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= unit * b.abs().max(1.0);
                assert!(near, "{}: {a}, not {b}", case.name());
            }
        }
    }
}

/// What sums of 70,001 terms of one sign may be off: 4·(17 + 4)·2⁻²⁴.
const SUMS: f64 = 5e-6;

type Reduce = fn(&GraphBuilder, Value, &[i64], bool) -> Value;

/// A reduction of rows, columns, all, an empty set, long rows and a symbolic axis, with these fills and dtypes.
fn reductions(reduce: Reduce, fills: &[Fill], dtypes: &[DType]) -> Vec<Sample> {
    let shapes: [(&[u64], &[i64]); 11] = [
        (&[5, 37], &[-1]),
        (&[37, 5], &[0]),
        (&[2, 3, 4, 5], &[0, 2]),
        (&[2, 3, 4, 5], &[]),
        (&[], &[]),
        (&[7, 1], &[1]),
        (&[4, 0], &[1]),
        (&[0, 4], &[1]),
        (&[3, 1025], &[1]),
        (&[1, 70_001], &[]),
        (&[2, 3, 2, 3, 2, 3, 2, 3], &[0, 2, 4, 6]),
    ];
    let mut samples = Vec::new();
    for (i, fill) in fills.iter().enumerate() {
        for (j, (shape, axes)) in shapes.iter().enumerate() {
            let dtype = dtypes[(i + j) % dtypes.len()];
            let label = format!("{dtype} {shape:?} over {axes:?}, {fill:?}");
            let sample = Sample::graph(&label, |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("gone", reduce(g, x, axes, false));
                g.output("kept", reduce(g, x, axes, true));
            });
            samples.push(sample.fill("x", fill.clone()));
        }
    }
    samples.extend(dtypes.iter().map(|&d| {
        let sample = Sample::graph(&format!("{d}"), |g| {
            g.output("y", reduce(g, g.input("x", tensor(d, [9, 33])), &[1], false));
        });
        sample.fill("x", fills[0].clone())
    }));
    samples.extend([0, 1, 2, 33, 70].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 70"), |g| {
            let x = g.input("x", tensor(dtypes[0], [sym("n", 0..=70), 5.into(), sym("m", 1..=3)]));
            g.output("first", reduce(g, x, &[0], true));
            g.output("second", reduce(g, x, &[1], false));
            g.output("both", reduce(g, x, &[0, 2], false));
            g.output("all", reduce(g, x, &[], false));
        });
        sample.bind("n", n).bind("m", 2).fill("x", fills[0].clone())
    }));
    samples
}

fn norms(runner: &Runner) {
    let numbers = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::I8, DType::U16, DType::I64];
    let fills = [Fill::Normal, Fill::Any];
    all_pass(runner, "reduce_l1", reductions(GraphBuilder::reduce_l1, &fills, &numbers));
    all_pass(runner, "reduce_sum_square", reductions(GraphBuilder::reduce_sum_square, &fills, &numbers));
    all_pass(runner, "reduce_l2", reductions(GraphBuilder::reduce_l2, &[Fill::Normal], &FLOATS));
    let special = [Fill::Special];
    all_pass(runner, "reduce_l1", reductions(GraphBuilder::reduce_l1, &special, &FLOATS));
    all_pass(runner, "reduce_l2", reductions(GraphBuilder::reduce_l2, &special, &FLOATS));
}

fn logarithms(runner: &Runner) {
    let positive = [Fill::Uniform(0.1, 3.0)];
    all_pass(runner, "reduce_log_sum", reductions(GraphBuilder::reduce_log_sum, &positive, &FLOATS));
    let fills =
        [Fill::Normal, Fill::Uniform(-100.0, 100.0), Fill::Special, Fill::Constant(f64::NEG_INFINITY)];
    all_near(
        runner,
        "reduce_log_sum_exp",
        1e-6,
        reductions(GraphBuilder::reduce_log_sum_exp, &fills, &FLOATS),
    );
    let infinite = Fill::Floats(vec![1.0, f64::INFINITY, -100.0, f64::NEG_INFINITY, 2.0, 0.5]);
    let samples = reductions(GraphBuilder::reduce_log_sum_exp, &[infinite], &FLOATS);
    all_near(runner, "reduce_log_sum_exp", 1e-6, samples);
}

fn truth(runner: &Runner) {
    let fills = [Fill::Any, Fill::Constant(1.0), Fill::Constant(0.0)];
    all_pass(runner, "reduce_any", reductions(GraphBuilder::reduce_any, &fills, &[DType::Bool]));
    all_pass(runner, "reduce_all", reductions(GraphBuilder::reduce_all, &fills, &[DType::Bool]));
    let late = Sample::graph("of a comparison", |g| {
        let x = g.input("x", bool_([3, 300]));
        g.output("none", g.not(g.reduce_any(x, &[1], false)));
    });
    all_pass(runner, "reduce_any", vec![late.fill("x", Fill::Constant(0.0))]);
}

fn variances(runner: &Runner) {
    let fills = [Fill::Normal, Fill::Uniform(1000.0, 1001.0)];
    let methods: [(&'static str, Reduce); 4] = [
        ("variance 0", |g, x, a, k| g.variance(x, a, 0, k)),
        ("variance 1", |g, x, a, k| g.variance(x, a, 1, k)),
        ("std_dev 0", |g, x, a, k| g.std_dev(x, a, 0, k)),
        ("std_dev 1", |g, x, a, k| g.std_dev(x, a, 1, k)),
    ];
    for (name, method) in methods {
        all_pass(runner, name, reductions(method, &fills, &FLOATS));
    }
}

type Loss = fn(&GraphBuilder, &[Value], LossReduction) -> (Value, Value);

/// A loss of operands of one shape, by every reduction: small, empty, rank 0 where `any_rank`, long, symbolic, of each
/// dtype. `fills` are those of the operands.
fn losses(loss: Loss, any_rank: bool, fills: &[&[Fill]]) -> Vec<Sample> {
    let all = [LossReduction::None, LossReduction::Sum, LossReduction::Mean, LossReduction::MeanOrZero];
    let build = |g: &GraphBuilder, operands: &[Value]| {
        for reduction in all {
            let (value, weight) = loss(g, operands, reduction);
            g.output(&format!("loss {reduction:?}"), value);
            g.output(&format!("weight {reduction:?}"), weight);
        }
    };
    let shapes: &[&[u64]] = match any_rank {
        true => &[&[5, 7], &[], &[0], &[3, 0, 2], &[65], &[2, 3, 4, 5], &[1, 70_001]],
        false => &[&[5, 7], &[1, 1], &[0, 4], &[3, 0], &[65, 33], &[2, 1025], &[700, 2]],
    };
    let filled = |sample: Sample, fills: &[Fill]| {
        fills.iter().enumerate().fold(sample, |s, (i, fill)| s.fill(&format!("x{i}"), fill.clone()))
    };
    let mut samples = Vec::new();
    for (i, fills) in fills.iter().enumerate() {
        let case = |d: DType, shape: &[u64]| {
            let sample = Sample::graph(&format!("{d} {shape:?}, fills {i}"), |g| {
                let input = |k: usize| g.input(&format!("x{k}"), tensor(d, shape.iter().copied()));
                build(g, &(0..fills.len()).map(input).collect::<Vec<_>>());
            });
            filled(sample, fills)
        };
        samples.extend(shapes.iter().map(|shape| case(DType::F32, shape)));
        samples.extend([DType::F16, DType::BF16].map(|d| case(d, &[9, 33])));
        samples.extend([0, 1, 33, 70].map(|n| {
            let sample = Sample::graph(&format!("symbolic, {n} of 70, fills {i}"), |g| {
                let shape = || [sym("n", 0..=70), sym("m", 2..=5)];
                let input = |k: usize| g.input(&format!("x{k}"), tensor(DType::F32, shape()));
                build(g, &(0..fills.len()).map(input).collect::<Vec<_>>());
            });
            filled(sample.bind("n", n).bind("m", 3), fills)
        }));
    }
    samples
}

fn differences(runner: &Runner) {
    let fills: [&[Fill]; 2] = [&[Fill::Normal, Fill::Normal], &[Fill::Special, Fill::Normal]];
    let mse: Loss = |g, x, reduction| g.mse(x[0], x[1], Mse { reduction });
    all_pass(runner, "mse", losses(mse, true, &fills[..1]));
    let l1: Loss = |g, x, reduction| g.l1(x[0], x[1], L1 { reduction });
    all_pass(runner, "l1", losses(l1, true, &fills));
    let huber: Loss = |g, x, reduction| g.huber(x[0], x[1], Huber { reduction, delta: 0.75 });
    all_pass(runner, "huber", losses(huber, true, &fills[..1]));
}

fn distributions(runner: &Runner) {
    let share = || Fill::Uniform(0.01, 1.0);
    let kl: Loss = |g, x, reduction| g.kl_div(x[0], x[1], KlDiv { reduction });
    let zeros = Fill::Floats(vec![0.0, 0.25, 1.0, 0.0, 0.75]);
    all_near(runner, "kl_div", SUMS, losses(kl, true, &[&[Fill::Normal, share()], &[Fill::Normal, zeros]]));
    let dense: Loss = |g, x, reduction| g.cross_entropy_dense(x[0], x[1], CrossEntropyDense { reduction });
    let hundreds = Fill::Uniform(-100.0, 100.0);
    let fills: [&[Fill]; 2] = [&[Fill::Normal, share()], &[hundreds, share()]];
    all_near(runner, "cross_entropy_dense", SUMS, losses(dense, false, &fills));
}

fn binary(runner: &Runner) {
    let share = || Fill::Uniform(0.0, 1.0);
    let ends = || Fill::Floats(vec![0.0, 1.0, 1.0, 0.5, 0.0, 0.25, 0.75]);
    let of_probabilities: Loss =
        |g, x, reduction| g.binary_cross_entropy(x[0], x[1], BinaryCrossEntropy { reduction });
    let fills: [&[Fill]; 2] = [&[Fill::Uniform(0.02, 0.98), share()], &[ends(), share()]];
    all_near(runner, "binary_cross_entropy", SUMS, losses(of_probabilities, true, &fills));
    let hundreds = || Fill::Floats(vec![-100.0, 100.0, 0.0, 1.5, -30.0, 30.0, -0.25, 12.0]);
    let of_logits: Loss = |g, x, reduction| {
        let op = BinaryCrossEntropyWithLogits { reduction };
        g.binary_cross_entropy_with_logits(x[0], x[1], x.get(2).copied(), op)
    };
    let fills: [&[Fill]; 4] = [
        &[Fill::Normal, share()],
        &[hundreds(), ends()],
        &[Fill::Normal, share(), Fill::Uniform(0.5, 4.0)],
        &[hundreds(), ends(), Fill::Constant(3.0)],
    ];
    all_near(runner, "binary_cross_entropy_with_logits", SUMS, losses(of_logits, true, &fills));
}

/// Losses of scores [4 or so, classes, d…] and classes given by index, with and without weights of the classes.
fn classes_by_index(runner: &Runner) {
    let ignored = [None, Some(-100), Some(1)];
    let all = [LossReduction::None, LossReduction::Sum, LossReduction::Mean, LossReduction::MeanOrZero];
    let build = |g: &GraphBuilder, scores: Value, target: Value, weights: Option<Value>| {
        for (ignore_index, reduction) in ignored.iter().flat_map(|&i| all.map(|r| (i, r))) {
            let op = SoftmaxCrossEntropy { reduction, ignore_index, ..Default::default() };
            let (loss, weight) = g.softmax_cross_entropy(scores, target, weights, op);
            let (of_logits, _) = g.nll_loss(scores, target, weights, NllLoss { reduction, ignore_index });
            for (name, value) in [("loss", loss), ("weight", weight), ("of logarithms", of_logits)] {
                g.output(&format!("{name} {reduction:?} {ignore_index:?}"), value);
            }
        }
    };
    let case = |(dtype, index): (DType, DType), shape: &[u64], weighted: bool| {
        let label = format!("{dtype} {shape:?} by {index}, weighted {weighted}");
        let sample = Sample::graph(&label, |g| {
            let cases = shape.iter().enumerate().filter(|&(axis, _)| axis != 1).map(|(_, &n)| n);
            let scores = g.input("scores", tensor(dtype, shape.iter().copied()));
            let target = g.input("target", tensor(index, cases));
            let weights = weighted.then(|| g.input("weights", tensor(dtype, [shape[1]])));
            build(g, scores, target, weights);
        });
        sample.fill("target", Fill::Range(0, shape[1] as i64)).fill("weights", Fill::Uniform(0.25, 2.0))
    };
    let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
    let mut samples = vec![
        case((f, i64), &[5, 7], false),
        case((f, i32), &[5, 7], true),
        case((f, i32), &[2, 3, 4, 5], true),
        case((f, i64), &[2, 3, 2, 3, 2], false),
        case((f, i32), &[1, 1], true),
        case((f, i32), &[0, 4], true),
        case((f, i64), &[3, 5000], false),
        case((f, i32), &[700, 3], true),
        case((DType::F16, i32), &[9, 33], true),
        case((DType::BF16, i64), &[9, 33], false),
    ];
    // Classes that are none: ignored by some, told by the others.
    let outside = case((f, i32), &[6, 4], true)
        .fill("target", Fill::Ints(vec![0, -100, 3, -1, 4, i64::from(i32::MIN)]));
    samples.push(outside.expect_status());
    samples.extend([0, 1, 9].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 9"), |g| {
            let scores = g.input("scores", tensor(f, [sym("n", 0..=9), sym("c", 2..=5)]));
            let target = g.input("target", tensor(i64, [sym("n", 0..=9)]));
            build(g, scores, target, Some(g.input("weights", tensor(f, [sym("c", 2..=5)]))));
        });
        let sample = sample.fill("target", Fill::Range(0, 3)).fill("weights", Fill::Uniform(0.25, 2.0));
        sample.bind("n", n).bind("c", 3)
    }));
    all_near(runner, "softmax_cross_entropy", SUMS, samples);
}

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_interpreter {$(
            #[test]
            fn $name() {
                super::$name(&super::Runner::interpreter(super::MOST_ELEMENTS));
            }
        )*}

        mod on_device {$(
            #[test]
            fn $name() {
                let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
                super::$name(&super::Runner::new(device, super::MOST_ELEMENTS));
            }
        )*}
    };
}
on_both!(
    norms,
    logarithms,
    truth,
    variances,
    differences,
    distributions,
    binary,
    classes_by_index,
    losses_of_rows,
    loaded_reductions,
    places_of_largest,
    shared_pools,
    matrices_of_windows,
    resamplings,
    stacks,
    tiles,
    reversals,
    fills,
    extents,
    one_hots,
    triangles,
    diagonals,
    blocks_of_pixels,
    padded_convolutions,
    uniques,
    unlike_extents,
    suppressions,
    ranges,
    scans,
    collecting_loops,
    collecting_whiles,
    cells,
    calls,
    sorts,
    distances,
    neighbours,
    rows_by_index,
    windows,
    mels,
    log_mels,
    averages,
    peaks,
    frames,
    whisper,
    numbers,
    draws,
    penalties,
    routers,
    scaled_products,
    products_over_axes,
    adapters,
);
