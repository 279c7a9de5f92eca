//! Values of ops by others' code (`tests/reference/op_goldens.py` and `goldens_*.py`: the onnx package's evaluator,
//! NumPy, SciPy), on the evaluator, the interpreter and the device: what evaluator and kernels share, one hand, may be
//! wrong in both.

mod images;
mod products;
mod signal;
mod transformer;

use pumice_cpu_ref::{Array, RefEval};
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
use pumice_ir::{ConstEval, Fill, GraphBuilder, Sample, Value, tensor};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::{DType, DimExpr, Tensor};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

const GOLDENS: [&str; 5] = [
    include_str!("../../data/op_goldens.json"),
    include_str!("../../data/op_goldens_images.json"),
    include_str!("../../data/op_goldens_products.json"),
    include_str!("../../data/op_goldens_signal.json"),
    include_str!("../../data/op_goldens_transformer.json"),
];
/// Cases of an op at least, and values of each of its attributes.
const CASES: usize = 8;

#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    op: String,
    attributes: BTreeMap<String, Json>,
    operands: Vec<Operand>,
    results: Vec<Operand>,
}

#[derive(Clone, Deserialize)]
struct Operand {
    dtype: String,
    shape: Vec<u64>,
    elements: Vec<Json>,
}

impl Operand {
    fn dtype(&self) -> DType {
        DType::ALL.into_iter().find(|d| d.name() == self.dtype).expect("a dtype")
    }

    fn floats(&self) -> Vec<f64> {
        let number = |v: &Json| match v.as_str() {
            Some("inf") => f64::INFINITY,
            Some("-inf") => f64::NEG_INFINITY,
            Some(_) => f64::NAN,
            None => v.as_f64().expect("a number"),
        };
        self.elements.iter().map(number).collect()
    }

    fn ints(&self) -> Vec<i64> {
        self.elements.iter().map(|v| v.as_i64().expect("an integer")).collect()
    }

    fn fill(&self) -> Fill {
        if self.dtype().is_float() { Fill::Floats(self.floats()) } else { Fill::Ints(self.ints()) }
    }

    fn tensor(&self) -> Tensor {
        let floats: Vec<f32> = self.floats().into_iter().map(|v| v as f32).collect();
        let made = match self.dtype() {
            DType::F32 => Tensor::new(&floats, &self.shape),
            DType::I32 => {
                Tensor::new(&self.ints().into_iter().map(|v| v as i32).collect::<Vec<_>>(), &self.shape)
            }
            _ => Tensor::new(&self.ints(), &self.shape),
        };
        made.expect("as many as the shape says")
    }
}

impl Golden {
    fn int(&self, name: &str) -> i64 {
        self.attributes.get(name).and_then(Json::as_i64).unwrap_or(0)
    }

    fn flag(&self, name: &str) -> bool {
        self.int(name) != 0
    }

    fn word(&self, name: &str) -> &str {
        self.attributes.get(name).and_then(Json::as_str).unwrap_or("none")
    }

    fn scatter(&self) -> ScatterReduction {
        let (words, word) = (["none", "add", "mul", "max", "min"], self.word("reduction"));
        ScatterReduction::ALL[words.iter().position(|w| *w == word).expect("a reduction")]
    }

    fn loss(&self) -> (LossReduction, Option<i64>) {
        let reduction = match self.word("reduction") {
            "sum" => LossReduction::Sum,
            "mean" => LossReduction::Mean,
            _ => LossReduction::None,
        };
        (reduction, self.attributes.get("ignore_index").and_then(Json::as_i64))
    }

    /// How many of the operands are data; the others say attributes.
    fn data(&self) -> usize {
        match self.op.as_str() {
            "Pad" | "Tile" | "Trilu" | "CumSum" | "OneHot" => 1,
            other => signal::data(other).or_else(|| images::data(other)).unwrap_or(self.operands.len()),
        }
    }

    /// The results, of operands that are data.
    fn build(&self, g: &GraphBuilder, x: &[Value]) -> Vec<Value> {
        let (axis, list) = (self.int("axis"), |i: usize| self.operands[i].ints());
        let (exclusive, reverse) = (self.flag("exclusive"), self.flag("reverse"));
        match self.op.as_str() {
            "ScatterElements" => vec![g.scatter_elements(x[0], x[1], x[2], axis, self.scatter())],
            "ScatterND" => vec![g.scatter_nd(x[0], x[1], x[2], self.scatter())],
            "GatherElements" => vec![g.gather_elements(x[0], x[1], axis)],
            "GatherND" => vec![g.gather_nd(x[0], x[1], self.int("batch_dims") as u64)],
            "Pad" => {
                let words = ["constant", "reflect", "edge", "wrap"];
                let mode = PadMode::ALL[words.iter().position(|w| *w == self.word("mode")).expect("a mode")];
                let value = self.operands.get(2).map(|v| g.constant(v.tensor()));
                vec![g.pad(x[0], value, Pad { mode, pads: list(1), axes: Vec::new() })]
            }
            "Tile" => vec![g.tile(x[0], &list(1).into_iter().map(|n| n as u64).collect::<Vec<_>>())],
            "OneHot" => {
                let values = g.constant(self.operands[2].tensor());
                vec![g.one_hot(x[0], DimExpr::constant(list(1)[0]), Some(values), axis)]
            }
            "Trilu" => vec![g.trilu(x[0], list(1)[0], self.flag("upper"))],
            "TopK" => pair(g.top_k(x[0], self.int("k") as u64, axis, self.flag("largest"))),
            "sort" => pair(g.sort(x[0], axis, self.flag("descending"))),
            "CumSum" => vec![g.cum_sum(x[0], CumSum { axis: list(1)[0], exclusive, reverse })],
            "cum_prod" => vec![g.cum_prod(x[0], CumProd { axis, exclusive, reverse })],
            "NegativeLogLikelihoodLoss" => {
                let (reduction, ignore_index) = self.loss();
                vec![g.nll_loss(x[0], x[1], x.get(2).copied(), NllLoss { reduction, ignore_index }).0]
            }
            "SoftmaxCrossEntropyLoss" => {
                let (reduction, ignore_index) = self.loss();
                let op = SoftmaxCrossEntropy { reduction, ignore_index };
                vec![g.softmax_cross_entropy(x[0], x[1], x.get(2).copied(), op).0]
            }
            other => self.build_by_method(other, g, x),
        }
    }

    /// What ONNX has no op for, or its evaluator no code.
    fn build_by_method(&self, method: &str, g: &GraphBuilder, x: &[Value]) -> Vec<Value> {
        match method {
            "scatter_add" => vec![g.scatter_add(x[0], x[1], self.int("rows") as u64)],
            "tensor_scatter" => {
                let circular = self.word("mode") == "circular";
                let mode = if circular { AppendMode::Circular } else { AppendMode::Linear };
                vec![g.tensor_scatter(x[0], x[1], Some(x[2]), TensorScatter { axis: self.int("axis"), mode })]
            }
            "pairwise_distance" => {
                let metric = match self.word("metric") {
                    "squared_euclidean" => Metric::SquaredEuclidean,
                    "euclidean" => Metric::Euclidean,
                    "manhattan" => Metric::Manhattan,
                    _ => Metric::Cosine,
                };
                vec![g.pairwise_distance(x[0], x[1], metric)]
            }
            other => {
                let one = signal::build(self, g, x).or_else(|| products::build(self, g, x));
                let built = one.map(|y| vec![y]).or_else(|| images::build(self, g, x));
                let built = built.or_else(|| transformer::build(self, g, x));
                built.unwrap_or_else(|| panic!("no builder for {other}"))
            }
        }
    }

    fn graph(&self, g: &GraphBuilder, leaf: impl Fn(usize, &Operand) -> Value) {
        let x: Vec<Value> =
            self.operands[..self.data()].iter().enumerate().map(|(i, o)| leaf(i, o)).collect();
        let results = self.build(g, &x);
        assert_eq!(results.len(), self.results.len(), "{}", self.op);
        results.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
    }

    /// What differs from the golden values, if anything.
    fn difference(&self, outputs: &[Array]) -> Option<String> {
        let wrong = |(i, (got, want)): (usize, (&Array, &Operand))| {
            if got.dtype != want.dtype() || got.shape != want.shape {
                return Some(format!(
                    "result {i} is {} {:?}, not {} {:?}",
                    got.dtype, got.shape, want.dtype, want.shape
                ));
            }
            let (got, want) = (got.to_f64(), want.floats());
            let floor = images::floor(&self.op).or_else(|| products::floor(&self.op));
            let floor = floor.or_else(|| transformer::floor(&self.op));
            let floor = floor.unwrap_or_else(|| signal::floor(&self.op, &want));
            let near = |a: f64, b: f64| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 2e-6 * b.abs().max(floor)
            };
            let at = got.iter().zip(&want).position(|(&a, &b)| !near(a, b))?;
            Some(format!("element {at} of result {i} is {}, not {}", got[at], want[at]))
        };
        outputs.iter().zip(&self.results).enumerate().find_map(wrong)
    }

    fn name(&self) -> String {
        let shapes: Vec<&Vec<u64>> = self.operands.iter().map(|o| &o.shape).collect();
        format!("{} {:?} of {shapes:?}", self.op, self.attributes)
    }
}

fn pair((a, b): (Value, Value)) -> Vec<Value> {
    vec![a, b]
}

fn goldens() -> Vec<Golden> {
    let cases = |text: &str| serde_json::from_str::<Goldens>(text).expect("the committed form").cases;
    GOLDENS.into_iter().flat_map(cases).collect()
}

/// Panics with every case that differs.
fn all_agree(outputs: impl Fn(&Golden) -> Result<Vec<Array>, String>) {
    let cases = goldens();
    let told = cases.iter().filter_map(|case| {
        let why = match outputs(case) {
            Ok(outputs) => case.difference(&outputs),
            Err(why) => Some(why),
        };
        why.map(|why| format!("{}: {why}", case.name()))
    });
    let told: Vec<String> = told.collect();
    assert!(told.is_empty(), "{} of {}:\n{}", told.len(), cases.len(), told.join("\n"));
}

fn by_runner(runner: &Runner) {
    all_agree(|case| {
        let mut sample = Sample::graph(&case.name(), |g| {
            case.graph(g, |i, o| g.input(&format!("x{i}"), tensor(o.dtype(), o.shape.iter().copied())));
        });
        for (i, operand) in case.operands[..case.data()].iter().enumerate() {
            if !operand.elements.is_empty() {
                sample = sample.fill(&format!("x{i}"), operand.fill());
            }
        }
        let graph = sample.graph.clone().map_err(|e| e.to_string())?;
        let plan = runner.plan(&graph)?;
        let outputs = runner.outputs(&Case::new("golden", sample), plan)?;
        Ok(outputs.iter().map(Array::from_tensor).collect())
    });
}

#[test]
fn the_evaluator_agrees() {
    all_agree(|case| {
        let g = GraphBuilder::new("golden");
        case.graph(&g, |_, o| g.constant(o.tensor()));
        let graph = g.build().map_err(|e| e.to_string())?;
        let outputs = RefEval.eval(&graph).map_err(|e| e.to_string())?;
        Ok(outputs.iter().map(Array::from_tensor).collect())
    });
}

#[test]
fn the_interpreter_agrees() {
    by_runner(&Runner::interpreter(1 << 16));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::by_runner(&super::Runner::new(device, 1 << 16));
    }
}

/// At least eight cases of each op, and two values of every attribute.
#[test]
fn attributes_vary() {
    let mut ops: BTreeMap<String, (usize, BTreeMap<String, BTreeSet<String>>)> = BTreeMap::new();
    for case in goldens() {
        let (count, values) = ops.entry(case.op).or_default();
        *count += 1;
        for (name, value) in case.attributes {
            values.entry(name).or_default().insert(value.to_string());
        }
    }
    for (op, (count, values)) in ops {
        assert!(count >= CASES, "{op}: {count} cases");
        let constant: Vec<&String> =
            values.iter().filter(|(_, v)| v.len() < 2).map(|(name, _)| name).collect();
        assert!(constant.is_empty(), "{op}: {constant:?} have one value");
    }
}
