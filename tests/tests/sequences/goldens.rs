//! Values by others' code (`tests/reference/goldens_sequences.py`), on the evaluator, the interpreter and the device.

use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet, UpdateRule};
use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
use pumice_ir::ops::networks::{Activation, Direction, Gru, Lstm, NetworkOperands, Rnn, SequenceLayout};
use pumice_ir::ops::recurrent_layer::CellActivation;
use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, Near, Suite, given, pair};
use pumice_tests::op_suite::Runner;
use serde_json::Value as Json;

const SUITE: Suite = Suite {
    texts: &[include_str!("../../data/op_goldens_sequences.json")],
    data: |case| case.operands.len(),
    build,
    // The reference computes some of them in f32, too.
    near: |_, _| Near { share: 1e-5, floor: 0.5 },
    are_params: false,
};

type Operands<'a> = &'a [Option<Value>];

fn rule(case: &Golden, name: &str) -> UpdateRule {
    let words = ["linear", "gated", "delta", "gated_delta"];
    UpdateRule::ALL[words.iter().position(|w| *w == case.word(name)).expect("a rule")]
}

fn build(case: &Golden, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
    match case.op.as_str() {
        "CausalConvWithState" => {
            let silu = case.word("activation") == "silu";
            let activation = if silu { ConvActivation::Silu } else { ConvActivation::None };
            let op = CausalConvWithState { activation };
            pair(g.causal_conv_with_state(given(x, 0), given(x, 1), x[2], x[3], op))
        }
        "LinearAttention" => attention(case, g, x),
        "gated_delta_net" => {
            let op = GatedDeltaNet {
                rule: rule(case, "rule"),
                scale: case.number("scale").map(|v| v as f32),
                l2norm_qk: case.flag("l2norm_qk"),
                eps: case.number("eps").expect("it is given") as f32,
            };
            let operands = DeltaOperands { decay: x[3], beta: x[4], state: x[5] };
            pair(g.gated_delta_net([0, 1, 2].map(|i| given(x, i)), operands, op))
        }
        "selective_scan" => {
            let operands = ScanOperands { d: x[5], z: x[6], delta_bias: x[7], h0: x[8] };
            let op = SelectiveScan { delta_softplus: case.flag("delta_softplus") };
            pair(g.selective_scan([0, 1, 2, 3, 4].map(|i| given(x, i)), operands, op))
        }
        "mamba2" => {
            let operands = SsdOperands { d: x[5], z: x[6], dt_bias: x[7], state: x[8] };
            let limit = |name: &str| case.number(name).expect("it is given") as f32;
            let dt_limit = (limit("low"), limit("high"));
            let op = Mamba2 { dt_softplus: case.flag("dt_softplus"), dt_limit };
            pair(g.mamba2([0, 1, 2, 3, 4].map(|i| given(x, i)), operands, op))
        }
        _ => network(case, g, x),
    }
}

/// ONNX has heads side by side in one axis.
fn attention(case: &Golden, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
    let (hq, h) = (case.int("q_num_heads"), case.int("kv_num_heads"));
    let shape = |i: usize| {
        case.operands[i].as_ref().expect("it is given").shape.iter().map(|&n| n as i64).collect::<Vec<_>>()
    };
    let apart = |i: usize, heads: i64| {
        let shape = shape(i);
        g.reshape(given(x, i), &[shape[0], shape[1], heads, shape[2] / heads])
    };
    let (main, keys) = ([apart(0, hq), apart(1, h), apart(2, h)], shape(0)[2] / hq);
    let of_keys = |i: usize| shape(i)[2] == h * keys && keys > 1;
    let decay = x[4].map(|decay| if of_keys(4) { apart(4, h) } else { decay });
    let op = GatedDeltaNet {
        rule: rule(case, "update_rule"),
        scale: case.number("scale").filter(|&v| v != 0.0).map(|v| v as f32),
        ..GatedDeltaNet::default()
    };
    let (o, last) = g.gated_delta_net(main, DeltaOperands { decay, beta: x[5], state: x[3] }, op);
    let shape: Vec<i64> = case.results[0].shape.iter().map(|&n| n as i64).collect();
    vec![g.reshape(o, &shape), last]
}

/// What all networks have.
fn base(case: &Golden) -> Rnn {
    let directions = ["forward", "reverse", "bidirectional"];
    let at = directions.iter().position(|d| *d == case.word("direction")).expect("a direction");
    let steps_first = case.int("layout") == 0;
    let layout = if steps_first { SequenceLayout::StepsFirst } else { SequenceLayout::BatchFirst };
    let clip = case.number("clip").filter(|&v| v > 0.0).map(|v| v as f32);
    let given = case.attributes.get("activations").and_then(Json::as_array);
    let activations = given.into_iter().flatten().map(activation).collect();
    Rnn { direction: Direction::ALL[at], activations, clip, layout }
}

fn network(case: &Golden, g: &GraphBuilder, x: Operands<'_>) -> Vec<Value> {
    let of = |i: usize| x.get(i).copied().flatten();
    let (bias, lens, h0, c0, peepholes) = (of(3), of(4), of(5), of(6), of(7));
    let operands = NetworkOperands { bias, lens, h0, c0, peepholes };
    let (main, base) = ([0, 1, 2].map(|i| given(x, i)), base(case));
    let extra = case.flag("extra") || case.flag("linear_before_reset");
    match case.op.to_lowercase().as_str() {
        "rnn" => pair(g.rnn(main, operands, base)),
        "gru" => pair(g.gru(main, operands, Gru { base, linear_before_reset: extra })),
        "lstm" => {
            let (y, h, c) = g.lstm(main, operands, Lstm { base, input_forget: extra });
            vec![y, h, c]
        }
        other => panic!("no builder for {other}"),
    }
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

#[test]
fn the_evaluator_agrees() {
    SUITE.by_evaluator();
}

#[test]
fn the_interpreter_agrees() {
    SUITE.by_runner(&Runner::interpreter(1 << 18));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::SUITE.by_device(&super::Runner::new(device, 1 << 18));
    }
}

#[test]
fn attributes_vary() {
    SUITE.attributes_vary();
}
