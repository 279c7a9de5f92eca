//! Residuals that stretch over some of the axes that a kernel walks as one: the step shows a copy of them, and its
//! meaning takes what it shows. The interpreter refused these steps.

use crate::harness::compare;
use pumice_compile::Options;
use pumice_ir::ops::{Conv, ConvTranspose, MaxPool};
use pumice_ir::{Fill, GraphBuilder, Sample, Value, f32, sym};

/// A step with residuals that vary along columns, along rows, and with nothing; sums of small integers are exact.
fn runs(what: &str, step: impl Fn(&GraphBuilder, Value, Value, Value) -> Value) {
    let sample = Sample::graph(what, |g| {
        let x = g.input("x", f32([sym("b", 1..=2), 3.into(), 4.into(), 4.into()]));
        let (w, bias) = (g.param("w", f32([3, 3, 1, 1])), g.param("bias", f32([3])));
        let sum = g.add(step(g, x, w, bias), g.input("columns", f32([1, 3, 1, 4])));
        let product = g.mul(sum, g.param("rows", f32([4, 1])));
        g.output("y", g.add(product, g.param("each", f32([3, 1, 1]))));
    });
    let leaves = ["x", "w", "bias", "columns", "rows", "each"];
    let sample = leaves.iter().fold(sample, |sample, leaf| sample.fill(leaf, Fill::Range(-4, 5)));
    let graph = sample.graph.clone().expect("a graph");
    let compared = compare(&sample, &graph, &Options::default(), 1);
    assert!(compared.is_ok(), "{what}: {compared:?}");
}

#[test]
fn of_convolutions_and_pools() {
    runs("conv", |g, x, w, _| g.conv(x, w, None, Conv::default()));
    runs("conv with bias", |g, x, w, bias| g.conv(x, w, Some(bias), Conv::default()));
    runs("transposed", |g, x, w, bias| g.conv_transpose(x, w, Some(bias), ConvTranspose::default()));
    runs("pool", |g, x, w, bias| {
        let pool = MaxPool { kernel: vec![1, 1], ..MaxPool::default() };
        g.max_pool(g.conv(x, w, Some(bias), Conv::default()), pool)
    });
}
