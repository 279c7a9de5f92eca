//! Training steps in less memory: the same bits on the interpreter and on lavapipe, whatever is computed again.

use pumice::train::{AdamW, Recipe, names, step_graphs};
use pumice_compile::Options;
use pumice_ir::{Fill, Graph, GraphBuilder, Sample, Value, f32, i32};
use pumice_tests::device;
use pumice_tests::graphs::trial::{Rig, Trial};
use pumice_vulkan::DeviceOptions;

const ROWS: u64 = 256;
const WIDTH: u64 = 32;
const LAYERS: usize = 6;

/// Blocks of norm, product, gelu, dropout, product and sum.
fn deep() -> Graph {
    let g = GraphBuilder::new("deep");
    let mut x = g.input("x", f32([ROWS, WIDTH]));
    let class = g.input("class", i32([ROWS]));
    for layer in 0..LAYERS {
        x = block(&g, x, layer);
    }
    let logits = g.linear(x, g.param("head.weight", f32([10, WIDTH])), None);
    let (loss, weight) = g.softmax_cross_entropy(logits, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.build().expect("sound")
}

fn block(g: &GraphBuilder, x: Value, layer: usize) -> Value {
    let param = |part: &str, shape: &[u64]| g.param(&format!("h.{layer}.{part}"), f32(shape.to_vec()));
    let h = g.layer_norm(x, param("ln.weight", &[WIDTH]), Some(param("ln.bias", &[WIDTH])), 1e-5);
    let h = g.linear(h, param("fc.weight", &[2 * WIDTH, WIDTH]), Some(param("fc.bias", &[2 * WIDTH])));
    let h = g.dropout_training(g.gelu_tanh(h), 0.1).0;
    g.add(x, g.linear(h, param("out.weight", &[WIDTH, 2 * WIDTH]), None))
}

/// Two steps.
fn sample() -> Sample {
    let recipe = Recipe::new(AdamW::default()).clip_norm(1.0);
    let made = step_graphs(&deep(), &recipe).unwrap_or_else(|e| panic!("{e}"));
    let mut sample = Sample::graph("deep", |_| {});
    sample.graph = Ok(made.step);
    sample.fills = made.trained.iter().map(|t| (t.name.clone(), Fill::Uniform(-0.2, 0.2))).collect();
    sample
        .fill("class", Fill::Range(0, 10))
        .fill(names::BASE, Fill::Constant(0.0))
        .fill(names::NUMBERS, Fill::Uniform(0.01, 0.02))
        .runs(2)
}

/// Shares of the scratch that is needed otherwise.
const SHARES: [f64; 4] = [0.9, 0.8, 0.7, 0.6];

fn same_bits(rig: &Rig) {
    let trial = Trial::of(sample(), Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let kept = trial.results(rig).unwrap_or_else(|e| panic!("{e}"));
    let again: Vec<u32> = SHARES
        .iter()
        .map(|&share| trial.with_less_memory(rig, &kept, share).unwrap_or_else(|e| panic!("{share}: {e}")))
        .collect();
    println!("{again:?} steps more");
    assert!(again[0] > 0 && again[1] > again[0] && again[2] > again[1], "{again:?}");
}

#[test]
fn what_is_computed_again_has_the_same_bits() {
    same_bits(&Rig::interpreter());
}

#[test]
fn what_is_computed_again_has_the_same_bits_on_a_device() {
    let _driver = device::keep_driver();
    same_bits(&Rig::device(device::open(&DeviceOptions::default())));
}
