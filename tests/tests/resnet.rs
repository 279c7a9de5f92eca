//! ResNet-50 as it is planned for a GPU: how many levels of steps it takes.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_tests::resnet::resnet50;
use pumice_types::Target;

/// Levels of a run. Every level costs about 2 us on an H200, whatever it computes.
fn levels(batch: u64) -> usize {
    let net = resnet50(batch, false).unwrap_or_else(|e| panic!("{e}"));
    let plan = compile(&net.graph, &Target::h200(), &Options::default(), &RefEval).expect("it compiles");
    plan.runs[0].program.levels.len()
}

/// A convolution is a level with its batch norm, its residual and its relu: 53 levels on 2026-11-24, one image or 32.
#[test]
fn a_gpu_runs_it_in_few_levels() {
    let (one, many) = (levels(1), levels(32));
    println!("ResNet-50: {one} levels for one image, {many} for 32");
    assert!(one <= 85, "{one} levels for one image");
    assert!(many <= 60, "{many} levels for 32 images");
}
