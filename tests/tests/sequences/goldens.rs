//! Values by others' code (`tests/reference/goldens_sequences.py`), on the evaluator, the interpreter and the device.

use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet, UpdateRule};
use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
use pumice_ir::ops::networks::{Activation, Direction, Gru, Lstm, NetworkOperands, Rnn, SequenceLayout};
use pumice_ir::ops::recurrent_layer::CellActivation;
use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};
use pumice_ir::{ConstEval, Fill, GraphBuilder, Sample, Value, tensor};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::{DType, Tensor};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

const GOLDENS: &str = include_str!("../../data/op_goldens_sequences.json");
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
    operands: Vec<Option<Operand>>,
    results: Vec<Operand>,
}

#[derive(Clone, Deserialize)]
struct Operand {
    dtype: String,
    shape: Vec<u64>,
    elements: Vec<f64>,
}

impl Operand {
    fn dtype(&self) -> DType {
        DType::ALL.into_iter().find(|d| d.name() == self.dtype).expect("a dtype")
    }

    fn tensor(&self) -> Tensor {
        let made = match self.dtype() {
            DType::F32 => {
                Tensor::new(&self.elements.iter().map(|&v| v as f32).collect::<Vec<_>>(), &self.shape)
            }
            _ => Tensor::new(&self.elements.iter().map(|&v| v as i32).collect::<Vec<_>>(), &self.shape),
        };
        made.expect("as many as the shape says")
    }

    fn fill(&self) -> Fill {
        match self.dtype() {
            DType::F32 => Fill::Floats(self.elements.clone()),
            _ => Fill::Ints(self.elements.iter().map(|&v| v as i64).collect()),
        }
    }
}

type Operands<'a> = &'a [Option<Value>];

impl Golden {
    fn number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name).and_then(Json::as_f64)
    }

    fn count(&self, name: &str) -> i64 {
        self.number(name).unwrap_or(0.0) as i64
    }

    fn flag(&self, name: &str) -> bool {
        self.count(name) != 0
    }

    fn word(&self, name: &str) -> &str {
        self.attributes.get(name).and_then(Json::as_str).unwrap_or("none")
    }

    fn rule(&self, name: &str) -> UpdateRule {
        let words = ["linear", "gated", "delta", "gated_delta"];
        UpdateRule::ALL[words.iter().position(|w| *w == self.word(name)).expect("a rule")]
    }

    fn build(&self, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
        match self.op.as_str() {
            "CausalConvWithState" => {
                let silu = self.word("activation") == "silu";
                let activation = if silu { ConvActivation::Silu } else { ConvActivation::None };
                let op = CausalConvWithState { activation };
                pair(g.causal_conv_with_state(given(x, 0), given(x, 1), x[2], x[3], op))
            }
            "LinearAttention" => self.attention(g, x),
            "gated_delta_net" => {
                let op = GatedDeltaNet {
                    rule: self.rule("rule"),
                    scale: self.number("scale").map(|v| v as f32),
                    l2norm_qk: self.flag("l2norm_qk"),
                    eps: self.number("eps").expect("it is given") as f32,
                };
                let operands = DeltaOperands { decay: x[3], beta: x[4], state: x[5] };
                pair(g.gated_delta_net([0, 1, 2].map(|i| given(x, i)), operands, op))
            }
            "selective_scan" => {
                let operands = ScanOperands { d: x[5], z: x[6], delta_bias: x[7], h0: x[8] };
                let op = SelectiveScan { delta_softplus: self.flag("delta_softplus") };
                pair(g.selective_scan([0, 1, 2, 3, 4].map(|i| given(x, i)), operands, op))
            }
            "mamba2" => {
                let operands = SsdOperands { d: x[5], z: x[6], dt_bias: x[7], state: x[8] };
                let limit = |name: &str| self.number(name).expect("it is given") as f32;
                let dt_limit = (limit("low"), limit("high"));
                let op = Mamba2 { dt_softplus: self.flag("dt_softplus"), dt_limit };
                pair(g.mamba2([0, 1, 2, 3, 4].map(|i| given(x, i)), operands, op))
            }
            _ => self.network(g, x),
        }
    }

    /// ONNX has heads side by side in one axis.
    fn attention(&self, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
        let (hq, h) = (self.count("q_num_heads"), self.count("kv_num_heads"));
        let shape = |i: usize| {
            self.operands[i]
                .as_ref()
                .expect("it is given")
                .shape
                .iter()
                .map(|&n| n as i64)
                .collect::<Vec<_>>()
        };
        let apart = |i: usize, heads: i64| {
            let shape = shape(i);
            g.reshape(given(x, i), &[shape[0], shape[1], heads, shape[2] / heads])
        };
        let (main, keys) = ([apart(0, hq), apart(1, h), apart(2, h)], shape(0)[2] / hq);
        let of_keys = |i: usize| shape(i)[2] == h * keys && keys > 1;
        let decay = x[4].map(|decay| if of_keys(4) { apart(4, h) } else { decay });
        let op = GatedDeltaNet {
            rule: self.rule("update_rule"),
            scale: self.number("scale").filter(|&v| v != 0.0).map(|v| v as f32),
            ..GatedDeltaNet::default()
        };
        let (o, last) = g.gated_delta_net(main, DeltaOperands { decay, beta: x[5], state: x[3] }, op);
        let shape: Vec<i64> = self.results[0].shape.iter().map(|&n| n as i64).collect();
        vec![g.reshape(o, &shape), last]
    }

    /// What all networks have.
    fn base(&self) -> Rnn {
        let directions = ["forward", "reverse", "bidirectional"];
        let at = directions.iter().position(|d| *d == self.word("direction")).expect("a direction");
        let steps_first = self.count("layout") == 0;
        let layout = if steps_first { SequenceLayout::StepsFirst } else { SequenceLayout::BatchFirst };
        let clip = self.number("clip").filter(|&v| v > 0.0).map(|v| v as f32);
        let given = self.attributes.get("activations").and_then(Json::as_array);
        let activations = given.into_iter().flatten().map(activation).collect();
        Rnn { direction: Direction::ALL[at], activations, clip, layout }
    }

    fn network(&self, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
        let of = |i: usize| x.get(i).copied().flatten();
        let (bias, lens, h0, c0, peepholes) = (of(3), of(4), of(5), of(6), of(7));
        let operands = NetworkOperands { bias, lens, h0, c0, peepholes };
        let (main, base) = ([0, 1, 2].map(|i| given(x, i)), self.base());
        let extra = self.flag("extra") || self.flag("linear_before_reset");
        match self.op.to_lowercase().as_str() {
            "rnn" => pair(g.rnn(main, operands, base)),
            "gru" => pair(g.gru(main, operands, Gru { base, linear_before_reset: extra })),
            "lstm" => {
                let (y, h, c) = g.lstm(main, operands, Lstm { base, input_forget: extra });
                vec![y, h, c]
            }
            other => panic!("no builder for {other}"),
        }
    }

    fn graph(&self, g: &GraphBuilder, leaf: impl Fn(usize, &Operand) -> Value) {
        let operands = self.operands.iter().enumerate();
        let x: Vec<Option<Value>> = operands.map(|(i, o)| o.as_ref().map(|o| leaf(i, o))).collect();
        let results = self.build(g, &x);
        assert_eq!(results.len(), self.results.len(), "{}", self.op);
        results.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
    }

    /// What differs from the golden values, if anything.
    fn difference(&self, outputs: &[Array]) -> Option<String> {
        let wrong = |(i, (got, want)): (usize, (&Array, &Operand))| {
            if got.dtype != want.dtype() || got.shape != want.shape {
                let got = (got.dtype, &got.shape);
                return Some(format!("result {i} is {got:?}, not {} {:?}", want.dtype, want.shape));
            }
            // The reference computes some of them in f32, too.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs().max(0.5);
            let got = got.to_f64();
            let at = got.iter().zip(&want.elements).position(|(&a, &b)| !near(a, b))?;
            Some(format!("element {at} of result {i} is {}, not {}", got[at], want.elements[at]))
        };
        outputs.iter().zip(&self.results).enumerate().find_map(wrong)
    }

    fn name(&self) -> String {
        let shapes: Vec<Option<&Vec<u64>>> =
            self.operands.iter().map(|o| o.as_ref().map(|o| &o.shape)).collect();
        format!("{} {:?} of {shapes:?}", self.op, self.attributes)
    }
}

fn given(x: Operands<'_>, i: usize) -> Value {
    x[i].expect("it is given")
}

/// A name, α and β.
fn activation(given: &Json) -> Activation {
    let words = [
        "relu",
        "tanh",
        "sigmoid",
        "softsign",
        "softplus",
        "affine",
        "leaky_relu",
        "thresholded_relu",
        "scaled_tanh",
        "hard_sigmoid",
        "elu",
    ];
    let kind = |word: &str| Some(CellActivation::ALL[words.iter().position(|w| *w == word)?]);
    let number = |i: usize| given[i].as_f64().expect("a number") as f32;
    let kind = given[0].as_str().and_then(kind).expect("an activation");
    Activation { kind, alpha: number(1), beta: number(2) }
}

fn pair((a, b): (Value, Value)) -> Vec<Value> {
    vec![a, b]
}

fn goldens() -> Vec<Golden> {
    serde_json::from_str::<Goldens>(GOLDENS).expect("the committed form").cases
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
        for (i, operand) in case.operands.iter().enumerate() {
            let Some(operand) = operand else { continue };
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
    by_runner(&Runner::interpreter(1 << 18));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::by_runner(&super::Runner::new(device, 1 << 18));
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
