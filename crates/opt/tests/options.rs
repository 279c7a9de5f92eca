//! Options of the pipeline, and graphs on which a pass could run for ever or too long.

mod common;

use common::{after, assert_same, optimized, sample_of};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::SumPool;
use pumice_ir::{Graph, GraphBuilder, Op, f32};
use pumice_opt::{NoCostModel, OptError, OptOptions, PassCx, optimize};
use pumice_types::{DType, Precision, Target, Tensor};

fn chain(
    length: usize,
    step: impl Fn(&GraphBuilder, pumice_ir::Value) -> pumice_ir::Value,
    x: bool,
) -> Graph {
    let g = GraphBuilder::new("chain");
    let input = g.input("x", f32([2u64, 3]));
    let mut v = if x { input } else { g.constant_scalar(DType::F32, 1.0) };
    for _ in 0..length {
        v = step(&g, v);
    }
    g.output("y", g.add(v, input));
    g.build().expect("a chain")
}

#[test]
fn unknown_passes_are_errors() {
    let graph = chain(1, |g, v| g.neg(v), true);
    let cx = PassCx {
        target: &Target::lavapipe(),
        precision: Precision::Exact,
        fold: &RefEval,
        cost_model: &NoCostModel,
        range: None,
        room: None,
    };
    let skip = |name| optimize(&graph, &OptOptions::without(name), &cx);
    assert!(matches!(skip("fold_constant"), Err(OptError::Skip { reason: "there is no such pass", .. })));
    assert!(matches!(skip("decompose"), Err(OptError::Skip { .. })));
    assert!(skip("fold_constants").is_ok());
}

#[test]
fn long_chains_come_to_an_end() {
    let constants = chain(500, |g, v| g.add(v, g.constant_scalar(DType::F32, 1.0)), false);
    let folded = optimized(&constants, &OptOptions::default());
    assert_eq!(folded.nodes().len(), 3, "x, 501, x + 501");
    let moved = chain(300, |g, v| g.transpose(v, &[1, 0]), true);
    let graph = after(&moved, &["eliminate_identities"]);
    assert!(!graph.nodes().any(|(_, n)| matches!(n.op, Op::Transpose(_))), "300 exchanges are none");
    let negated = optimized(&chain(301, |g, v| g.neg(v), true), &OptOptions::default());
    assert_same(&sample_of(&moved), &moved, &graph, "transposes");
    assert!(negated.nodes().len() <= 4);
}

/// A window over each of 65,536 elements: 30,720 results of 2,000 million reads. Evaluating them took minutes.
#[test]
fn long_sums_of_constants_stay_nodes() {
    let n = 1u64 << 16;
    let g = GraphBuilder::new("wide window");
    let x = g.constant(Tensor::new(&vec![1.0f32; n as usize], &[1, 1, n]).expect("a tensor"));
    let (strides, pads) = (vec![2], vec![n / 2 - 1; 2]);
    let pool = SumPool { kernel: vec![n], strides, pads, ..SumPool::default() };
    g.output("y", g.sum_pool(x, pool));
    g.output("small", g.reduce_sum(x, &[2], false));
    let folded = optimized(&g.build().expect("a pool"), &OptOptions::default());
    let pools = folded.nodes().filter(|(_, node)| matches!(node.op, Op::SumPool(_))).count();
    let sums = folded.nodes().filter(|(_, node)| matches!(node.op, Op::ReduceSum(_))).count();
    assert_eq!((pools, sums), (1, 0));
}

/// A region has as many nodes as its kernel bears, and the rest is another region: nothing is refused.
#[test]
fn long_regions_are_cut() {
    let graph = chain(100, |g, v| g.tanh(v), true);
    let after = optimized(&graph, &OptOptions::default());
    let fused = after.nodes().filter(|(_, n)| matches!(n.op, Op::Fused(_))).count();
    assert!((10..40).contains(&fused), "{fused} regions");
    assert_same(&sample_of(&graph), &graph, &after, "tanh of tanh");
}

/// The time grows with the graph, not with its square: 4,000 nodes in well under a second even unoptimized.
#[test]
fn large_graphs_are_quick() {
    let g = GraphBuilder::new("large");
    let mut x = g.input("x", f32([4u64, 8]));
    for i in 0..400 {
        let (w, b) = (g.param(&format!("w{i}"), f32([8u64, 8])), g.param(&format!("b{i}"), f32([8u64])));
        let (gamma, y) = (g.param(&format!("g{i}"), f32([8u64])), g.linear(x, w, Some(b)));
        let y = g.mul(g.sigmoid(y), y);
        x = g.rms_norm(g.add(y, x), gamma, 1e-5);
    }
    g.output("y", x);
    let graph = g.build().expect("a large graph");
    let start = std::time::Instant::now();
    let after = optimized(&graph, &OptOptions::default());
    assert!(start.elapsed().as_secs_f64() < 5.0, "{:?}", start.elapsed());
    // A product with its bias and gate, a norm with the residual.
    let fused = after.nodes().filter(|(_, n)| matches!(n.op, Op::Fused(_))).count();
    assert_eq!(fused, 800);
}
