//! 16-bit floats, symbolic extents, lengths of 0 and 1, states in f32 beside others: against the evaluator.

use pumice_cpu_ref::{Array, Reference};
use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet};
use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
use pumice_ir::ops::networks::{Direction, Gru, NetworkOperands, Rnn, SequenceLayout};
use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};
use pumice_ir::shape::DimSpec;
use pumice_ir::{Fill, GraphBuilder, Sample, i32, sym, tensor};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::DType;

const MOST_ELEMENTS: u64 = 1 << 18;

type Build = fn(&GraphBuilder, DType, [DimSpec; 2]);

fn outputs(g: &GraphBuilder, (y, last): (pumice_ir::Value, pumice_ir::Value)) {
    g.output("y", y);
    g.output("last", last);
}

fn convolution(g: &GraphBuilder, d: DType, [b, t]: [DimSpec; 2]) {
    let x = g.input("x", tensor(d, [b.clone(), 5.into(), t]));
    let (w, bias) = (g.param("w", tensor(d, [5u64, 1, 4])), g.param("bias", tensor(d, [5u64])));
    let past = g.input("past", tensor(d, [b, 5.into(), 3.into()]));
    let op = CausalConvWithState { activation: ConvActivation::Silu };
    outputs(g, g.causal_conv_with_state(x, w, Some(bias), Some(past), op));
    let (first, _) = g.causal_conv_with_state(x, w, None, None, CausalConvWithState::default());
    g.output("from zeros", first);
}

fn delta_net(g: &GraphBuilder, d: DType, [b, t]: [DimSpec; 2]) {
    let of = |name: &str, rest: &[u64]| {
        let shape = [b.clone(), t.clone()].into_iter().chain(rest.iter().map(|&n| n.into()));
        g.input(name, tensor(d, shape.collect::<Vec<DimSpec>>()))
    };
    let main = [of("q", &[2, 6]), of("k", &[2, 6]), of("v", &[4, 5])];
    // A state in f32 beside whatever the operands are.
    let state = g.input("state", tensor(DType::F32, [b.clone(), 4.into(), 6.into(), 5.into()]));
    let operands =
        DeltaOperands { decay: Some(of("decay", &[4])), beta: Some(of("beta", &[4])), state: Some(state) };
    outputs(
        g,
        g.gated_delta_net(main, operands, GatedDeltaNet { l2norm_qk: true, ..GatedDeltaNet::default() }),
    );
}

fn scan(g: &GraphBuilder, d: DType, [b, t]: [DimSpec; 2]) {
    let of = |name: &str, width: u64| g.input(name, tensor(d, [b.clone(), t.clone(), width.into()]));
    let a = g.param("a", tensor(d, [6u64, 3]));
    let main = [of("x", 6), of("delta", 6), a, of("b", 3), of("c", 3)];
    let operands = ScanOperands { z: Some(of("z", 6)), ..ScanOperands::default() };
    outputs(g, g.selective_scan(main, operands, SelectiveScan { delta_softplus: true }));
}

fn duality(g: &GraphBuilder, d: DType, [b, t]: [DimSpec; 2]) {
    let of = |name: &str, rest: &[u64]| {
        let shape = [b.clone(), t.clone()].into_iter().chain(rest.iter().map(|&n| n.into()));
        g.input(name, tensor(d, shape.collect::<Vec<DimSpec>>()))
    };
    let a = g.param("a", tensor(d, [4u64]));
    let main = [of("x", &[4, 3]), of("delta", &[4]), a, of("b", &[2, 5]), of("c", &[2, 5])];
    let skip = g.param("d", tensor(d, [4u64]));
    let operands = SsdOperands { d: Some(skip), ..SsdOperands::default() };
    outputs(g, g.mamba2(main, operands, Mamba2 { dt_softplus: true, dt_limit: (0.1, 0.9) }));
}

fn network(g: &GraphBuilder, d: DType, [b, t]: [DimSpec; 2]) {
    let x = g.input("x", tensor(d, [b.clone(), t, 3.into()]));
    let (w, r) = (g.param("w", tensor(d, [2u64, 12, 3])), g.param("r", tensor(d, [2u64, 12, 4])));
    let lens = Some(g.input("lens", i32([b])));
    let base =
        Rnn { direction: Direction::Bidirectional, layout: SequenceLayout::BatchFirst, ..Rnn::default() };
    let operands = NetworkOperands { lens, ..NetworkOperands::default() };
    outputs(g, g.gru([x, w, r], operands, Gru { base, linear_before_reset: false }));
}

fn samples(build: Build) -> Vec<Sample> {
    let filled = |sample: Sample| {
        sample
            .fill("decay", Fill::Uniform(-1.0, 0.0))
            .fill("beta", Fill::Uniform(0.0, 1.0))
            .fill("delta", Fill::Uniform(0.0, 0.8))
            .fill("r", Fill::Uniform(-0.3, 0.3))
            .fill("lens", Fill::Range(0, 9))
            .fill("a", Fill::Uniform(-3.0, -0.1))
    };
    let mut samples = Vec::new();
    for d in [DType::F32, DType::F16, DType::BF16] {
        for [b, t] in [[2, 3], [1, 1], [1, 0], [0, 2], [3, 9]] {
            samples.push(filled(Sample::graph(&format!("{d} {b} of {t}"), |g| {
                build(g, d, [b.into(), t.into()])
            })));
        }
    }
    samples.extend([[2, 7], [1, 1], [3, 0], [0, 4]].map(|[b, t]| {
        let sample = Sample::graph(&format!("symbolic, {b} of 3, {t} of 9"), |g| {
            build(g, DType::F32, [sym("b", 0..=3), sym("t", 0..=9)]);
        });
        filled(sample.bind("b", b).bind("t", t))
    }));
    samples
}

/// What differs from the evaluator by more than the parts of a composition may: 1e-5 of a value, of 1 for smaller ones;
/// of 16-bit results a unit more.
fn difference(runner: &Runner, case: &Case) -> Option<String> {
    let graph = case.sample.graph.clone().expect("a graph");
    let reference = Reference::new(&case.sample, &graph).expect("it has a value");
    let plan = runner.plan(&graph).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let outputs = runner.outputs(case, plan).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let want = &reference.run(0).expect("one run").outputs;
    outputs.iter().map(Array::from_tensor).zip(want).find_map(|(got, want)| {
        let unit = match got.dtype {
            DType::F16 => 1.0 / 512.0,
            DType::BF16 => 1.0 / 64.0,
            _ => 1e-5,
        };
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= unit * b.abs().max(1.0);
        let (a, b) = (got.to_f64(), want.to_f64());
        let fits = (got.dtype, &got.shape) == (want.dtype, &want.shape);
        let at = a.iter().zip(&b).position(|pair| !near(pair));
        (!fits || at.is_some()).then(|| format!("{}: element {at:?} of {:?}", case.name(), got.shape))
    })
}

fn all_near(runner: &Runner) {
    let methods: [(&'static str, Build); 5] = [
        ("gru", network),
        ("causal_conv_with_state", convolution),
        ("gated_delta_net", delta_net),
        ("selective_scan", scan),
        ("mamba2", duality),
    ];
    let cases = methods
        .into_iter()
        .flat_map(|(method, build)| samples(build).into_iter().map(move |s| Case::new(method, s)));
    let told: Vec<String> = cases.filter_map(|case| difference(runner, &case)).collect();
    assert!(told.is_empty(), "{}:\n{}", told.len(), told.join("\n"));
}

#[test]
fn on_the_interpreter() {
    all_near(&Runner::interpreter(MOST_ELEMENTS));
}

mod on_device {
    #[test]
    fn on_the_device() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::all_near(&super::Runner::new(device, super::MOST_ELEMENTS));
    }
}
