//! Every sample of every op: all passes keep its values.

mod common;

use common::{assert_close, optimized};
use pumice_ir::{Graph, Op, Sample};
use pumice_opt::OptOptions;

/// Samples with more elements are left to the op suite: passes see types, not sizes.
const MAX_ELEMENTS: u64 = 20_000;

/// Ops whose decomposition rounds more often than the op.
const ROUNDING: &[&str] = &[
    "dropout",
    "sum",
    "mean",
    "fma",
    "linear",
    "dequantize_linear",
    "layer_norm",
    "rms_norm",
    "batch_norm",
    "batch_norm_training",
    "group_norm",
    "instance_norm",
    "lp_normalization",
    "mean_variance_normalization",
    "cum_sum",
    "cum_prod",
    "fft",
    "softmax_cross_entropy",
    "scatter_elements",
    "scatter_nd",
    "linear_recurrence",
    "recurrent_layer",
];

fn is_small(graph: &Graph) -> bool {
    let elements = |v: &pumice_ir::ValueInfo| -> u64 {
        v.ty.shape.iter().map(|d| d.upper(graph.symbols())).fold(1, u64::saturating_mul)
    };
    graph.values().map(|(_, v)| elements(v)).max().is_none_or(|n| n <= MAX_ELEMENTS)
}

#[test]
fn samples_keep_their_values() {
    let mut checked = 0;
    for &name in Op::NAMES {
        for sample in Op::samples(name) {
            let Ok(graph) = sample.graph.clone() else {
                panic!("{name}: {}: {:?}", sample.label, sample.graph.err())
            };
            if is_small(&graph) {
                check(name, &sample, &graph);
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "only {checked} samples");
}

fn check(name: &str, sample: &Sample, graph: &Graph) {
    // Scatters that move or compare, and those of integers, round nothing.
    let exact = ["Set", "Max", "Min"].iter().any(|reduction| sample.label.contains(reduction))
        || sample.label.starts_with(['i', 'u']);
    // An attention that drops probabilities is what it is made of.
    let composed = name == "attention" && sample.label.starts_with("dropout: ");
    let rounds = composed || ROUNDING.contains(&name) && !(name.starts_with("scatter") && exact);
    let tolerance = if rounds { 1e-2 } else { 0.0 };
    let after = optimized(graph, &OptOptions::default());
    assert_close(sample, graph, &after, tolerance, name);
}
