//! Optimizers against PyTorch in f64 (`data/optimizers.py`), on the evaluator without rounding: 100 steps each.

mod rig;

#[path = "../examples/own_optimizer.rs"]
#[allow(dead_code, reason = "an example's `main`")]
mod own_optimizer;

use own_optimizer::Adafactor;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_train::{
    Adagrad, Adam, AdamW, Group, Lion, Optimizer, Recipe, RmsProp, Schedule, Sgd, names, step_graphs,
};
use rig::{Rig, Values, distance, floats, ints, number};
use serde_json::Value as Json;

const SHAPES: [(&str, &[u64]); 3] = [("a.weight", &[2, 3]), ("a.bias", &[3]), ("b.weight", &[4])];
const CLOSE: f64 = 1e-10;

fn goldens() -> Json {
    serde_json::from_str(include_str!("data/optimizers.json")).expect("what the script wrote")
}

/// A loss whose gradients are inputs: Σ p·x.
fn linear_loss() -> Graph {
    let g = GraphBuilder::new("linear");
    let sum = |(name, shape): (&str, &[u64])| {
        let ty = || f32(shape.iter().copied().map(pumice_ir::dim).collect::<Vec<_>>());
        let product = g.mul(g.param(name, ty()), g.input(&format!("x.{name}"), ty()));
        g.reduce_sum(product, &[], false)
    };
    let sums = SHAPES.map(sum);
    g.output("loss", g.add(g.add(sums[0], sums[1]), sums[2]));
    g.build().expect("a graph")
}

/// A tensor for each param, of a function of the number of an element among all.
fn tensors(prefix: &str, of: impl Fn(f64) -> f64) -> Values {
    let mut first = 0;
    let mut made = Values::new();
    for (name, shape) in SHAPES {
        let count = shape.iter().product::<u64>();
        let values = (first..first + count).map(|i| of(i as f64)).collect();
        first += count;
        made.insert(format!("{prefix}{name}"), floats(shape, values));
    }
    made
}

fn gradients(step: u32) -> Values {
    let n = f64::from(step);
    tensors("x.", |i| (0.37 * n + 1.1 * i + 0.1 * n * i).sin() * 10f64.powf(i % 3.0 - 1.0))
}

/// Runs 100 steps and compares the params that the golden keeps.
fn compare(case: &str, recipe: &Recipe, start: i64, infinite: &[u32]) {
    let goldens = goldens();
    let golden = &goldens["optimizers"][case];
    let made = step_graphs(&linear_loss(), recipe).expect("a recipe");
    let mut rig = Rig::new(false);
    rig.kept = tensors("", |i| (0.5 * i).cos());
    rig.set(names::UPDATES, ints(&[], vec![start]));
    let mut largest = 0f64;
    for step in 1..=100 {
        let mut inputs = if infinite.contains(&step) { tensors("x.", |_| 1e30) } else { gradients(step) };
        rig.numbers(&made.numbers, &mut inputs);
        let before = rig.kept.clone();
        let outputs = rig.run(&made.step, &inputs);
        if infinite.contains(&step) {
            assert_eq!(number(&outputs, names::FLAG), 0.0, "{case}");
            let kept = |name: &String| name != names::GOOD && name != names::SKIPS;
            assert!(
                before.iter().filter(|(n, _)| kept(n)).all(|(n, v)| rig.kept[n] == *v),
                "{case}: unmoved"
            );
        }
        for (name, _) in SHAPES.iter().filter(|_| golden.get(step.to_string()).is_some()) {
            let expected: Vec<f64> =
                serde_json::from_value(golden[step.to_string()][name].clone()).expect("numbers");
            largest = largest.max(distance(&rig.floats(name), &expected));
        }
    }
    assert!(largest < CLOSE, "{case}: {largest:e}");
    assert_eq!(rig.count(names::SKIPS), infinite.len() as i64, "{case}");
    assert_eq!(rig.count(names::UPDATES), start + 100 - infinite.len() as i64, "{case}");
    println!("{case}: {largest:e}");
}

fn constant(optimizer: impl Optimizer + 'static, rate: f64) -> Recipe {
    Recipe::new(optimizer).schedule(Schedule::constant(rate))
}

#[test]
fn sgd_is_pytorchs() {
    let weight_decay = 0.1;
    compare("sgd", &constant(Sgd { weight_decay, ..Sgd::default() }, 0.05), 0, &[]);
    let momentum = Sgd { momentum: 0.9, dampening: 0.3, weight_decay, ..Sgd::default() };
    compare("momentum", &constant(momentum, 0.05), 0, &[]);
    compare("nesterov", &constant(Sgd { momentum: 0.9, nesterov: true, ..Sgd::default() }, 0.05), 0, &[]);
}

#[test]
fn adam_is_pytorchs() {
    compare("adam", &constant(Adam { weight_decay: 0.1, ..Adam::default() }, 0.05), 0, &[]);
    compare("adamw", &constant(AdamW { weight_decay: 0.1, ..AdamW::default() }, 0.05), 0, &[]);
    compare("late", &constant(Adam::default(), 0.05), 1_000_000, &[]);
}

#[test]
fn adagrad_and_rms_prop_are_pytorchs() {
    let adagrad = Adagrad { rate_decay: 0.01, weight_decay: 0.1, ..Adagrad::default() };
    compare("adagrad", &constant(adagrad, 0.05), 0, &[]);
    compare("rms_prop", &constant(RmsProp { weight_decay: 0.1, ..RmsProp::default() }, 0.05), 0, &[]);
    let centred = RmsProp { centred: true, momentum: 0.8, ..RmsProp::default() };
    compare("rms_prop_centred", &constant(centred, 0.05), 0, &[]);
}

#[test]
fn lion_is_its_formula() {
    compare("lion", &constant(Lion { weight_decay: 0.1, ..Lion::default() }, 0.01), 0, &[]);
}

#[test]
fn an_optimizer_of_ones_own_is_pytorchs_adafactor() {
    compare("adafactor", &constant(Adafactor { weight_decay: 0.1 }, 0.05), 0, &[]);
}

/// Clipping, a group of its own rate and decay, a schedule with a warm-up, and step 7 left out for an infinite
/// gradient.
#[test]
fn groups_clipping_and_a_skipped_step() {
    let adam = || AdamW { weight_decay: 0.1, ..AdamW::default() };
    compare("clipped", &constant(adam(), 0.05).clip_norm(1.0), 0, &[]);
    let recipe = Recipe::new(adam())
        .schedule(Schedule::cosine(0.05).warmup(10).total(100))
        .group(Group::matching(["*.bias"]).weight_decay(0.0).rate(2.0))
        .clip_norm(1.0);
    compare("groups", &recipe, 0, &[7]);
}

#[test]
fn schedules_are_pytorchs() {
    let goldens = goldens();
    let cases = [
        ("warmup", Schedule::constant(0.05).warmup(10)),
        ("linear", Schedule::linear(0.05).total(40).last(0.01)),
        ("cosine", Schedule::cosine(0.05).total(40).last(0.001)),
        ("polynomial", Schedule::polynomial(0.05, 2.0).total(40)),
        ("step", Schedule::step(0.05, 7, 0.5)),
        ("one_cycle", Schedule::one_cycle(0.05, 40)),
    ];
    for (name, schedule) in cases {
        let golden: Vec<f64> = serde_json::from_value(goldens["schedules"][name].clone()).expect("numbers");
        let rates: Vec<f64> = (0..golden.len() as u64).map(|n| schedule.rate(n)).collect();
        let off = rates.iter().zip(&golden).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "{name}: {off:e}");
    }
    let own = Schedule::by(|n| 1.0 / (n + 1) as f64);
    assert_eq!([own.rate(0), own.rate(3)], [1.0, 0.25]);
}
