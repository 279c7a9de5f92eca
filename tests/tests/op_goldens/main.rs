//! Values of ops by others' code (`tests/reference/op_goldens.py` and `goldens_*.py`: the onnx package's evaluator,
//! NumPy, SciPy, PyTorch), on the evaluator, the interpreter and the device: what evaluator and kernels share, one
//! hand, may be wrong in both.

mod counted;
mod forms;
mod found;
mod images;
mod products;
mod random;
mod rows;
mod signal;
mod transformer;

use pumice_ir::ops::LossReduction;
use pumice_ir::ops::cum_prod::CumProd;
use pumice_ir::ops::cum_sum::CumSum;
use pumice_ir::ops::distances::Metric;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::ops::tensor_scatter::TensorScatter;
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, Near, Suite, pair};
use pumice_tests::op_suite::Runner;
use pumice_types::DimExpr;

const SUITE: Suite = Suite {
    texts: &[
        include_str!("../../data/op_goldens.json"),
        include_str!("../../data/op_goldens_forms.json"),
        include_str!("../../data/op_goldens_found.json"),
        include_str!("../../data/op_goldens_images.json"),
        include_str!("../../data/op_goldens_products.json"),
        include_str!("../../data/op_goldens_random.json"),
        include_str!("../../data/op_goldens_rows.json"),
        include_str!("../../data/op_goldens_signal.json"),
        include_str!("../../data/op_goldens_transformer.json"),
    ],
    data,
    build,
    near,
    are_params: false,
};

fn scatter(case: &Golden) -> ScatterReduction {
    let (words, word) = (["none", "add", "mul", "max", "min"], case.word("reduction"));
    ScatterReduction::ALL[words.iter().position(|w| *w == word).expect("a reduction")]
}

fn reduction(case: &Golden) -> LossReduction {
    match case.word("reduction") {
        "sum" => LossReduction::Sum,
        "mean" => LossReduction::Mean,
        _ => LossReduction::None,
    }
}

fn loss(case: &Golden) -> (LossReduction, Option<i64>) {
    (reduction(case), case.number("ignore_index").map(|i| i as i64))
}

/// How many of the operands are data; the others say attributes.
fn data(case: &Golden) -> usize {
    match case.op.as_str() {
        "Pad" | "Tile" | "Trilu" | "CumSum" | "OneHot" => 1,
        other => {
            let few = signal::data(other).or_else(|| images::data(other)).or_else(|| found::data(other));
            few.unwrap_or(case.operands.len())
        }
    }
}

/// The results, of operands that are data.
fn build(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Vec<Value> {
    let built =
        random::build(case, g, x).or_else(|| forms::build(case, g, x)).or_else(|| rows::build(case, g, x));
    built.unwrap_or_else(|| build_of_all(case, g, &x.iter().copied().flatten().collect::<Vec<_>>()))
}

/// How near the result of these values must be.
fn near(case: &Golden, want: &[f64]) -> Near {
    let op = case.op.as_str();
    let floor = images::floor(op).or_else(|| products::floor(op)).or_else(|| transformer::floor(op));
    let floor = floor
        .or_else(|| forms::floor(op))
        .or_else(|| rows::floor(op))
        .unwrap_or_else(|| signal::floor(op, want));
    // A number that is rounded to 16 bits may be the next one.
    Near { share: if case.word("dtype") == "f16" { 1e-3 } else { 2e-6 }, floor }
}

/// Of ops all of whose operands are there.
fn build_of_all(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Vec<Value> {
    let (axis, list) = (case.int("axis"), |i: usize| case.operand(i).ints());
    let (exclusive, reverse) = (case.flag("exclusive"), case.flag("reverse"));
    match case.op.as_str() {
        "ScatterElements" => vec![g.scatter_elements(x[0], x[1], x[2], axis, scatter(case))],
        "ScatterND" => vec![g.scatter_nd(x[0], x[1], x[2], scatter(case))],
        "GatherElements" => vec![g.gather_elements(x[0], x[1], axis)],
        "GatherND" => vec![g.gather_nd(x[0], x[1], case.int("batch_dims") as u64)],
        "Pad" => {
            let words = ["constant", "reflect", "edge", "wrap"];
            let mode = PadMode::ALL[words.iter().position(|w| *w == case.word("mode")).expect("a mode")];
            let value = case.operands.get(2).map(|_| g.constant(case.operand(2).tensor()));
            vec![g.pad(x[0], value, Pad { mode, pads: list(1), axes: Vec::new() })]
        }
        "Tile" => vec![g.tile(x[0], &list(1).into_iter().map(|n| n as u64).collect::<Vec<_>>())],
        "OneHot" => {
            let values = g.constant(case.operand(2).tensor());
            vec![g.one_hot(x[0], DimExpr::constant(list(1)[0]), Some(values), axis)]
        }
        "Trilu" => vec![g.trilu(x[0], list(1)[0], case.flag("upper"))],
        "TopK" => pair(g.top_k(x[0], case.int("k") as u64, axis, case.flag("largest"))),
        "sort" => pair(g.sort(x[0], axis, case.flag("descending"))),
        "CumSum" => vec![g.cum_sum(x[0], CumSum { axis: list(1)[0], exclusive, reverse })],
        "cum_prod" => vec![g.cum_prod(x[0], CumProd { axis, exclusive, reverse })],
        "NegativeLogLikelihoodLoss" => {
            let (reduction, ignore_index) = loss(case);
            vec![g.nll_loss(x[0], x[1], x.get(2).copied(), NllLoss { reduction, ignore_index }).0]
        }
        "SoftmaxCrossEntropyLoss" => {
            let (reduction, ignore_index) = loss(case);
            let op = SoftmaxCrossEntropy { reduction, ignore_index, ..Default::default() };
            vec![g.softmax_cross_entropy(x[0], x[1], x.get(2).copied(), op).0]
        }
        other => build_by_method(case, other, g, x),
    }
}

/// What ONNX has no op for, or its evaluator no code.
fn build_by_method(case: &Golden, method: &str, g: &GraphBuilder, x: &[Value]) -> Vec<Value> {
    match method {
        "scatter_add" => vec![g.scatter_add(x[0], x[1], case.int("rows") as u64)],
        "tensor_scatter" => {
            let circular = case.word("mode") == "circular";
            let mode = if circular { AppendMode::Circular } else { AppendMode::Linear };
            vec![g.tensor_scatter(x[0], x[1], Some(x[2]), TensorScatter { axis: case.int("axis"), mode })]
        }
        "pairwise_distance" => {
            let metric = match case.word("metric") {
                "squared_euclidean" => Metric::SquaredEuclidean,
                "euclidean" => Metric::Euclidean,
                "manhattan" => Metric::Manhattan,
                _ => Metric::Cosine,
            };
            vec![g.pairwise_distance(x[0], x[1], metric)]
        }
        other => {
            let one = signal::build(case, g, x).or_else(|| products::build(case, g, x));
            let built = one.map(|y| vec![y]).or_else(|| images::build(case, g, x));
            let built = built.or_else(|| transformer::build(case, g, x)).or_else(|| found::build(case, g, x));
            built.unwrap_or_else(|| panic!("no builder for {other}"))
        }
    }
}

#[test]
fn the_evaluator_agrees() {
    SUITE.by_evaluator();
}

#[test]
fn the_interpreter_agrees() {
    SUITE.by_runner(&Runner::interpreter(1 << 16));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::SUITE.by_device(&super::Runner::new(device, 1 << 16));
    }
}

#[test]
fn attributes_vary() {
    SUITE.attributes_vary();
}
