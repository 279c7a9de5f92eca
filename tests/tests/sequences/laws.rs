//! One call of T steps is T calls of one step, and calls of any lengths between, of which each takes the state of the
//! one before: drawn sizes, attributes and cuts.

use pumice_cpu_ref::Array;
use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet, UpdateRule};
use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
use pumice_ir::ops::networks::{Gru, Lstm, NetworkOperands};
use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};
use pumice_ir::sample::random;
use pumice_ir::{Fill, GraphBuilder, Sample, Value, f32};
use pumice_tests::op_suite::{Case, Runner};

/// Cases of each law on a device; in half of them every call is one step.
const CASES: u64 = 400;

/// Numbers of a seed.
struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.count += 1;
        random(self.seed, self.count) % n
    }

    fn up_to(&mut self, n: u64) -> u64 {
        1 + self.below(n)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Lengths of the calls that make T steps.
    fn cuts(&mut self, steps: u64, ones: bool) -> Vec<u64> {
        let (mut cuts, mut left) = (Vec::new(), steps);
        while left > 0 {
            let len = if ones { 1 } else { self.up_to(left) };
            cuts.push(len);
            left -= len;
        }
        cuts
    }
}

/// The result and the last state of some steps and the state before them.
type Call<'a> = Box<dyn Fn(&[Value], Value) -> (Value, Value) + 'a>;

/// Operands that have steps along an axis, the state before the first step, and a call of some steps.
struct Law<'a> {
    axis: i64,
    stepped: Vec<Value>,
    state: Value,
    call: Call<'a>,
}

impl Law<'_> {
    /// Results of the whole, then of the parts.
    fn outputs(&self, g: &GraphBuilder, cuts: &[u64]) {
        let (y, last) = (self.call)(&self.stepped, self.state);
        let (mut at, mut state, mut parts) = (0u64, self.state, Vec::new());
        for &len in cuts {
            let part: Vec<Value> = self.stepped.iter().map(|&x| g.narrow(x, self.axis, at, len)).collect();
            let (y, next) = (self.call)(&part, state);
            parts.push(y);
            (state, at) = (next, at + len);
        }
        g.output("y", y);
        g.output("last", last);
        g.output("y of parts", g.concat(&parts, self.axis));
        g.output("last of parts", state);
    }
}

fn convolution<'a>(g: &'a GraphBuilder, d: &mut Draws, steps: u64) -> Law<'a> {
    let (b, c, k) = (d.up_to(2), d.up_to(9), d.up_to(5));
    let activation = ConvActivation::ALL[d.below(2) as usize];
    let w = g.param("w", f32([c, 1, k]));
    let bias = d.coin().then(|| g.param("bias", f32([c])));
    Law {
        axis: 2,
        stepped: vec![g.input("x", f32([b, c, steps]))],
        state: g.input("state", f32([b, c, k - 1])),
        call: Box::new(move |x, state| {
            g.causal_conv_with_state(x[0], w, bias, Some(state), CausalConvWithState { activation })
        }),
    }
}

fn delta_net<'a>(g: &'a GraphBuilder, d: &mut Draws, steps: u64) -> Law<'a> {
    let (b, h, dv) = (d.up_to(2), d.up_to(3), d.up_to(5));
    let dk = [d.up_to(9), 64, 130][d.below(8).saturating_sub(5) as usize];
    let rule = UpdateRule::ALL[d.below(4) as usize];
    let hq = if d.coin() { h * d.up_to(3) } else { d.up_to(h) };
    let hk = d.up_to(h);
    let of_keys = d.coin();
    let mut stepped = vec![
        g.input("q", f32([b, steps, hq, dk])),
        g.input("k", f32([b, steps, hk, dk])),
        g.input("v", f32([b, steps, h, dv])),
    ];
    let decays = matches!(rule, UpdateRule::Gated | UpdateRule::GatedDelta);
    let corrects = matches!(rule, UpdateRule::Delta | UpdateRule::GatedDelta);
    if decays {
        let shape = if of_keys { f32([b, steps, h, dk]) } else { f32([b, steps, h]) };
        stepped.push(g.input("decay", shape));
    }
    if corrects {
        stepped.push(g.input("beta", f32([b, steps, if d.coin() { h } else { 1 }])));
    }
    let op = GatedDeltaNet { rule, l2norm_qk: true, ..GatedDeltaNet::default() };
    Law {
        axis: 1,
        stepped,
        state: g.input("state", f32([b, h, dk, dv])),
        call: Box::new(move |x, state| {
            let mut others = x[3..].iter().copied();
            let decay = others.next().filter(|_| decays);
            let beta = if decays { others.next() } else { x.get(3).copied() };
            let operands = DeltaOperands { decay, beta, state: Some(state) };
            g.gated_delta_net([x[0], x[1], x[2]], operands, op.clone())
        }),
    }
}

fn scan<'a>(g: &'a GraphBuilder, draws: &mut Draws, steps: u64) -> Law<'a> {
    let (b, d, n) = (draws.up_to(2), draws.up_to(9), [draws.up_to(5), 16, 70][draws.below(3) as usize]);
    let op = SelectiveScan { delta_softplus: draws.coin() };
    let mut stepped = vec![g.input("x", f32([b, steps, d])), g.input("delta", f32([b, steps, d]))];
    stepped.extend(["b", "c"].map(|name| g.input(name, f32([b, steps, n]))));
    if draws.coin() {
        stepped.push(g.input("z", f32([b, steps, d])));
    }
    let a = g.param("a", f32([d, n]));
    let skip = draws.coin().then(|| g.param("d", f32([d])));
    let delta_bias = draws.coin().then(|| g.param("bias", f32([d])));
    Law {
        axis: 1,
        stepped,
        state: g.input("state", f32([b, d, n])),
        call: Box::new(move |x, state| {
            let operands = ScanOperands { d: skip, z: x.get(4).copied(), delta_bias, h0: Some(state) };
            g.selective_scan([x[0], x[1], a, x[2], x[3]], operands, op)
        }),
    }
}

fn duality<'a>(g: &'a GraphBuilder, d: &mut Draws, steps: u64) -> Law<'a> {
    let (b, h, p, n) = (d.up_to(2), d.up_to(5), d.up_to(4), [d.up_to(5), 16, 70][d.below(3) as usize]);
    let groups = d.up_to(h);
    let op = Mamba2 { dt_softplus: d.coin(), dt_limit: (0.0, if d.coin() { 0.5 } else { f32::INFINITY }) };
    let mut stepped = vec![g.input("x", f32([b, steps, h, p])), g.input("delta", f32([b, steps, h]))];
    stepped.extend(["b", "c"].map(|name| g.input(name, f32([b, steps, groups, n]))));
    if d.coin() {
        stepped.push(g.input("z", f32([b, steps, h, p])));
    }
    let a = g.param("a", f32([h]));
    let skip = d.coin().then(|| g.param("d", f32([h])));
    let dt_bias = d.coin().then(|| g.param("bias", f32([h])));
    Law {
        axis: 1,
        stepped,
        state: g.input("state", f32([b, h, p, n])),
        call: Box::new(move |x, state| {
            let operands = SsdOperands { d: skip, z: x.get(4).copied(), dt_bias, state: Some(state) };
            g.mamba2([x[0], x[1], a, x[2], x[3]], operands, op.clone())
        }),
    }
}

/// A GRU, or an LSTM whose h and c lie side by side in one state.
fn network<'a>(g: &'a GraphBuilder, d: &mut Draws, steps: u64) -> Law<'a> {
    let (b, i, h, lstm) = (d.up_to(3), d.up_to(4), d.up_to(20), d.coin());
    let gates = if lstm { 4 } else { 3 };
    let w = g.param("w", f32([1, gates * h, i]));
    let r = g.param("r", f32([1, gates * h, h]));
    let bias = Some(g.param("wb", f32([1, 2 * gates * h])));
    let before = d.coin();
    Law {
        axis: 0,
        stepped: vec![g.input("x", f32([steps, b, i]))],
        state: g.input("state", f32([2, b, h])),
        call: Box::new(move |x, state| {
            let [h0, c0] = [0u64, 1].map(|at| Some(g.narrow(state, 0, at, 1)));
            let main = [x[0], w, r];
            if lstm {
                let operands = NetworkOperands { bias, h0, c0, ..NetworkOperands::default() };
                let (y, h, c) = g.lstm(main, operands, Lstm::default());
                return (y, g.concat(&[h, c], 0));
            }
            let operands = NetworkOperands { bias, h0, ..NetworkOperands::default() };
            let (y, h) = g.gru(main, operands, Gru { linear_before_reset: before, ..Gru::default() });
            (y, g.concat(&[h, g.narrow(state, 0, 1u64, 1)], 0))
        }),
    }
}

const LAWS: [for<'a> fn(&'a GraphBuilder, &mut Draws, u64) -> Law<'a>; 5] =
    [convolution, delta_net, scan, duality, network];

fn sample(law: usize, case: u64) -> Sample {
    let mut d = Draws { seed: law as u64 + LAWS.len() as u64 * case, count: 0 };
    let steps = d.up_to(9);
    let cuts = d.cuts(steps, case.is_multiple_of(2));
    let sample = Sample::graph(&format!("law {law}, case {case}: {cuts:?}"), |g| {
        LAWS[law](g, &mut d, steps).outputs(g, &cuts);
    });
    sample
        .fill("decay", Fill::Uniform(-1.0, 0.0))
        .fill("beta", Fill::Uniform(0.0, 1.0))
        .fill("delta", Fill::Uniform(0.0, 0.8))
        .fill("bias", Fill::Uniform(0.0, 0.3))
        .fill("r", Fill::Uniform(-0.3, 0.3))
        .fill("a", Fill::Uniform(-3.0, -0.1))
}

fn keep(runner: &Runner, law: usize, cases: impl Iterator<Item = u64>) {
    for case in cases {
        let sample = sample(law, case);
        let case = Case::new("law", sample.clone());
        let graph = sample.graph.unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let plan = runner.plan(&graph).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let outputs = runner.outputs(&case, plan).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let values: Vec<Vec<f64>> = outputs.iter().map(|t| Array::from_tensor(t).to_f64()).collect();
        let half = values.len() / 2;
        for (whole, parts) in values[..half].iter().zip(&values[half..]) {
            assert_eq!(whole.len(), parts.len(), "{}", case.name());
            let largest = whole.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            for (a, b) in whole.iter().zip(parts) {
                assert!((a - b).abs() <= 2e-6 * largest, "{}: {a} whole, {b} in parts", case.name());
            }
        }
    }
}

#[test]
fn the_interpreter_keeps_them() {
    (0..LAWS.len()).for_each(|law| keep(&Runner::interpreter(1 << 18), law, (0..CASES).step_by(50)));
}

mod on_device {
    fn keep(law: usize) {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::keep(&super::Runner::new(device, 1 << 18), law, 0..super::CASES);
    }

    #[test]
    fn the_convolution_with_a_state() {
        keep(0);
    }

    #[test]
    fn the_delta_net() {
        keep(1);
    }

    #[test]
    fn the_selective_scan() {
        keep(2);
    }

    #[test]
    fn mamba2() {
        keep(3);
    }

    #[test]
    fn recurrent_layers() {
        keep(4);
    }
}
