//! Optimizers on devices (G4): one step from where the reference is at each of 100 steps. The reference walks in f64
//! without rounding; at every step its state, rounded to f32, is what a device begins with, and the evaluator,
//! unrounded, says what comes of that. Each element of a weight or a moment is within 8 units of f32's last place of
//! the sum of its terms' sizes.

use pumice::train::{
    Adagrad, Adam, AdamW, Lion, Numbers, Optimizer, Recipe, RmsProp, Schedule, Sgd, TABLE_ROWS, names,
    step_graphs,
};
use pumice::{DType, Device, Graph, GraphBuilder, Options, Session, TensorView, f32};
use pumice_cpu_ref::array::unrounded;
use pumice_cpu_ref::{Array, EvalOptions, eval_graph};
use pumice_types::Bindings;
use std::collections::BTreeMap;
use std::sync::Arc;

const SHAPES: [(&str, &[u64]); 3] = [("a.weight", &[5, 7]), ("a.bias", &[7]), ("b.weight", &[64])];
const STEPS: u64 = 100;
const RATE: f64 = 0.05;
/// ε of f32: half the distance of 1 from the next number.
const EPS: f64 = f32::EPSILON as f64 / 2.0;
const CLIP: f64 = 1.0;

/// Values by name.
type Values = BTreeMap<String, Arc<Array>>;

/// One element before a step.
struct At {
    p: f64,
    /// Its gradient, clipped.
    g: f64,
    slots: Vec<f64>,
    /// What the slots become.
    after: Vec<f64>,
    /// The number of the update, from 1.
    t: i32,
}

/// The sums of the sizes of the terms of a weight and of each of its slots; none where the sign of nothing decides.
type Sizes = fn(&At) -> Option<Vec<f64>>;

struct Case {
    name: &'static str,
    recipe: Recipe,
    sizes: Sizes,
}

fn case(name: &'static str, optimizer: impl Optimizer + 'static, sizes: Sizes) -> Case {
    Case { name, recipe: Recipe::new(optimizer).schedule(Schedule::constant(RATE)), sizes }
}

fn cases() -> Vec<Case> {
    let momentum = || Sgd { momentum: 0.9, ..Sgd::default() };
    let clipped = case("adamw, clipped", AdamW { weight_decay: 0.1, ..AdamW::default() }, adamw);
    vec![
        case("sgd", Sgd { weight_decay: 0.1, ..Sgd::default() }, |at| {
            Some(vec![at.p.abs() + RATE * decayed(at)])
        }),
        case("momentum", Sgd { dampening: 0.3, weight_decay: 0.1, ..momentum() }, |at| {
            let share = if at.t == 1 { 1.0 } else { 0.7 };
            let v = 0.9 * at.slots[0].abs() + share * decayed(at);
            Some(vec![at.p.abs() + RATE * v, v])
        }),
        case("nesterov", Sgd { nesterov: true, ..momentum() }, |at| {
            let v = 0.9 * at.slots[0].abs() + at.g.abs();
            Some(vec![at.p.abs() + RATE * (at.g.abs() + 0.9 * v), v])
        }),
        case("adam", Adam { weight_decay: 0.1, ..Adam::default() }, |at| Some(adam(at, decayed(at), 0.0))),
        case("adamw", AdamW { weight_decay: 0.1, ..AdamW::default() }, adamw),
        Case { recipe: clipped.recipe.clip_norm(CLIP), ..clipped },
        case("adagrad", Adagrad { rate_decay: 0.01, weight_decay: 0.1, ..Adagrad::default() }, |at| {
            let squares = at.slots[0] + decayed(at).powi(2);
            let way = decayed(at) / (at.after[0].sqrt() + 1e-10) * squares / at.after[0];
            Some(vec![at.p.abs() + RATE * way, squares])
        }),
        case("rms_prop", RmsProp { weight_decay: 0.1, ..RmsProp::default() }, |at| {
            let v = 0.99 * at.slots[0] + 0.01 * decayed(at).powi(2);
            let way = decayed(at) / (at.after[0].sqrt() + 1e-8) * v / at.after[0];
            Some(vec![at.p.abs() + RATE * way, v])
        }),
        case("rms_prop, centred", RmsProp { centred: true, momentum: 0.8, ..RmsProp::default() }, centred),
        case("lion", Lion { weight_decay: 0.1, ..Lion::default() }, lion),
    ]
}

/// |g| and what the decay of 0.1 adds to it.
fn decayed(at: &At) -> f64 {
    at.g.abs() + 0.1 * at.p.abs()
}

/// Of Adam, with gradients of such terms and a decay of the weight itself.
fn adam(at: &At, g: f64, decay: f64) -> Vec<f64> {
    let (b1, b2) = (f64::from(0.9f32), f64::from(0.999f32));
    let (m, v) = (b1 * at.slots[0].abs() + (1.0 - b1) * g, b2 * at.slots[1] + (1.0 - b2) * g * g);
    let [c1, c2] = [b1, b2].map(|b| 1.0 - b.powi(at.t));
    let way = m / c1 / ((at.after[1] / c2).sqrt() + 1e-8) * v / at.after[1];
    vec![at.p.abs() * (1.0 + RATE * decay) + RATE * way, m, v]
}

fn adamw(at: &At) -> Option<Vec<f64>> {
    Some(adam(at, at.g.abs(), 0.1))
}

/// The spread is a difference of two, v − mean².
fn centred(at: &At) -> Option<Vec<f64>> {
    let (v, mean) = (0.99 * at.slots[0] + 0.01 * at.g * at.g, 0.99 * at.slots[1].abs() + 0.01 * at.g.abs());
    let spread = at.after[0] - at.after[1].powi(2);
    let velocity = 0.8 * at.slots[2].abs() + at.g.abs() / (spread.sqrt() + 1e-8) * (v + mean * mean) / spread;
    Some(vec![at.p.abs() + RATE * velocity, v, mean, velocity])
}

/// Counted apart is where the sign is that of a difference of equals.
fn lion(at: &At) -> Option<Vec<f64>> {
    let [m, g] = [0.9 * at.slots[0], 0.1 * at.g];
    let is_sign_clear = (m + g).abs() >= 1e-6 * (m.abs() + g.abs());
    let m = 0.99 * at.slots[0].abs() + 0.01 * at.g.abs();
    is_sign_clear.then(|| vec![at.p.abs() * (1.0 + 0.1 * RATE) + RATE, m])
}

/// A loss whose gradients are inputs: Σ p·x.
fn forward() -> Graph {
    let g = GraphBuilder::new("linear");
    let sum = |(name, shape): (&str, &[u64])| {
        let ty = || f32(shape.iter().copied());
        g.reduce_sum(g.mul(g.param(name, ty()), g.input(&format!("x.{name}"), ty())), &[], false)
    };
    let sums = SHAPES.map(sum);
    g.output("loss", g.add(g.add(sums[0], sums[1]), sums[2]));
    g.build().expect("a graph")
}

/// Exact numbers, as f32.
fn floats(shape: &[u64], values: Vec<f64>) -> Arc<Array> {
    Arc::new(Array::floats(DType::F32, shape, values))
}

/// A tensor for each param, of a function of the number of an element among all.
fn tensors(prefix: &str, of: impl Fn(f64) -> f64) -> Values {
    let mut first = 0;
    let mut made = Values::new();
    for (name, shape) in SHAPES {
        let count = shape.iter().product::<u64>();
        made.insert(
            format!("{prefix}{name}"),
            floats(shape, (first..first + count).map(|i| of(i as f64)).collect()),
        );
        first += count;
    }
    made
}

/// The gradients of a step, and the table of numbers at its base.
fn inputs(numbers: &Numbers, step: u64) -> Values {
    let n = (step + 1) as f64;
    let mut made = tensors("x.", |i| (0.37 * n + 1.1 * i + 0.1 * n * i).sin() * 10f64.powf(i % 3.0 - 1.0));
    let base = step - step % 5;
    let rows: Vec<f64> = (base..base + TABLE_ROWS).flat_map(|n| numbers.row(n)).collect();
    let table = unrounded(|| floats(&[TABLE_ROWS, numbers.columns() as u64], rows));
    made.insert(names::NUMBERS.into(), table);
    made.insert(names::BASE.into(), Arc::new(Array::ints(DType::I32, &[], vec![base as i64])));
    made
}

/// The states after a step, unrounded.
fn evaluated(graph: &Graph, states: &Values, inputs: &Values) -> Values {
    let leaf = |v| {
        let name: &str = &graph.value(v).name;
        inputs.get(name).or_else(|| states.get(name)).cloned()
    };
    let options = EvalOptions { unrounded: true, ..EvalOptions::default() };
    let made = eval_graph(graph, &leaf, &Bindings::new(), options).expect("the step runs");
    graph
        .states()
        .into_iter()
        .zip(made.states)
        .map(|(v, state)| (graph.value(v).name.to_string(), state))
        .collect()
}

/// The states before the first step.
fn first_states(graph: &Graph) -> Values {
    let mut states = tensors("", |i| (0.5 * i).cos());
    for v in graph.states() {
        let (ty, name) = (graph.ty(v), graph.value(v).name.to_string());
        let shape = ty.static_shape().expect("states have constant extents");
        let count = shape.iter().product::<u64>() as usize;
        states.entry(name).or_insert_with(|| match ty.dtype() {
            DType::F32 => floats(&shape, vec![0.0; count]),
            dtype => Arc::new(Array::ints(dtype, &shape, vec![0; count])),
        });
    }
    states
}

fn rounded(array: &Array) -> Arc<Array> {
    match array.dtype {
        DType::F32 => floats(&array.shape, array.to_f64()),
        _ => Arc::new(array.clone()),
    }
}

/// The states after a step on a device, which begins with these.
fn run(session: &mut Session, states: &Values, inputs: &Values) -> Values {
    for (name, array) in states {
        let tensor = array.to_tensor().expect("a tensor");
        session.state(name).and_then(|mut state| state.write(tensor.view())).expect("a state");
    }
    let tensors = inputs.iter().map(|(name, array)| (name.as_str(), array.to_tensor().expect("a tensor")));
    let tensors: Vec<_> = tensors.collect();
    let views: Vec<(&str, TensorView<'_>)> = tensors.iter().map(|(name, t)| (*name, t.view())).collect();
    session.run(&views).expect("it runs");
    let mut read = |name: &str| session.state(name).and_then(|mut state| state.read()).expect("a state");
    states.keys().map(|name| (name.clone(), Arc::new(Array::from_tensor(&read(name))))).collect()
}

/// How far elements are from the reference, of what is allowed.
#[derive(Default)]
struct Tally {
    worst: f64,
    elements: usize,
    apart: usize,
}

impl Tally {
    /// Compares a weight and its slots after step `t`.
    fn compare(&mut self, case: &Case, name: &str, slots: &[String], t: u64, step: &Step<'_>) {
        let values = |of: &Values| -> Vec<Vec<f64>> {
            let all = std::iter::once(name).chain(slots.iter().map(String::as_str));
            all.map(|name| of[name].to_f64()).collect()
        };
        let (before, wanted, found) = (values(step.before), values(step.wanted), values(step.found));
        let gradients = step.inputs[&format!("x.{name}")].to_f64();
        for (i, g) in gradients.iter().enumerate() {
            let slots_of = |of: &[Vec<f64>]| of[1..].iter().map(|slot| slot[i]).collect();
            let (slots, after) = (slots_of(&before), slots_of(&wanted));
            let at = At { p: before[0][i], g: g * step.clip, slots, after, t: t as i32 };
            let Some(sizes) = (case.sizes)(&at) else {
                self.apart += 1;
                continue;
            };
            for (k, size) in sizes.iter().enumerate() {
                let (off, allowed) = ((found[k][i] - wanted[k][i]).abs(), 8.0 * EPS * size);
                let place = format!("{}, step {t}, {name} {i}, value {k}", case.name);
                let least = f64::from(f32::MIN_POSITIVE);
                assert!(
                    off <= allowed + least,
                    "{place}: {} not {}, ±{allowed:e}",
                    found[k][i],
                    wanted[k][i]
                );
                self.worst = self.worst.max(off / (allowed + least));
                self.elements += 1;
            }
        }
    }
}

/// A step, and what came of it.
struct Step<'a> {
    before: &'a Values,
    wanted: &'a Values,
    found: &'a Values,
    inputs: &'a Values,
    /// What gradients are multiplied by.
    clip: f64,
}

fn clip(case: &Case, inputs: &Values) -> f64 {
    let squares = SHAPES.iter().flat_map(|(name, _)| inputs[&format!("x.{name}")].to_f64()).map(|x| x * x);
    let norm = squares.sum::<f64>().sqrt();
    if case.name.contains("clipped") { (CLIP / (norm + 1e-6)).min(1.0) } else { 1.0 }
}

fn hundred_steps(case: &Case, device: &Device) {
    let made = step_graphs(&forward(), &case.recipe).expect("a recipe");
    let exe = pumice::compile(&made.step, device, &Options::default()).expect("it compiles");
    let mut session = exe.session().expect("a session");
    let mut states = first_states(&made.step);
    let mut tally = Tally::default();
    for n in 0..STEPS {
        let inputs = inputs(&made.numbers, n);
        let before: Values = states.iter().map(|(name, array)| (name.clone(), rounded(array))).collect();
        let wanted = evaluated(&made.step, &before, &inputs);
        let found = run(&mut session, &before, &inputs);
        let step = Step {
            before: &before,
            wanted: &wanted,
            found: &found,
            inputs: &inputs,
            clip: clip(case, &inputs),
        };
        for (name, _) in SHAPES {
            let slots: Vec<String> =
                wanted.keys().filter(|state| state.starts_with(&format!("{name}/"))).cloned().collect();
            let slots = in_order(&slots);
            tally.compare(case, name, &slots, n + 1, &step);
        }
        states = evaluated(&made.step, &states, &inputs);
    }
    let Tally { worst, elements, apart } = tally;
    println!("{} on {}: {worst:.2} of 8 eps, {elements} elements, {apart} apart", case.name, device.name());
    assert!(elements >= STEPS as usize * 106 / 2 && apart * 100 <= elements, "{elements}, {apart} apart");
}

/// As optimizers list them: RMSprop keeps v, mean and velocity.
fn in_order(slots: &[String]) -> Vec<String> {
    let place = |name: &String| ["/v", "/mean", "/velocity"].iter().position(|end| name.ends_with(end));
    let mut slots = slots.to_vec();
    if slots.len() == 3 {
        slots.sort_by_key(place);
    }
    slots
}

fn all(device: &Device) {
    cases().iter().for_each(|case| hundred_steps(case, device));
}

mod on_interpreter {
    #[test]
    fn every_step_is_the_reference_s() {
        super::all(&pumice::Device::cpu());
    }
}

mod on_device {

    #[test]
    fn every_step_is_the_reference_s() {
        super::all(&pumice_tests::device::facade());
    }
}
