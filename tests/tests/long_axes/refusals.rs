//! What no kernel can compute within the limit, and the limit that plans keep. No device is needed.

use pumice_compile::{CompileError, Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::Attention;
use pumice_ir::{GraphBuilder, sym, tensor};
use pumice_plan::check::{Fault, check};
use pumice_types::{DType, Target};

/// What no kernel can compute is refused by name before anything runs.
#[test]
fn what_nothing_can_compute_is_refused() {
    let refused = |build: &dyn Fn(&GraphBuilder)| {
        let g = GraphBuilder::new("refused");
        build(&g);
        match compile(&g.build().expect("sound"), &Target::lavapipe(), &Options::default(), &RefEval) {
            Err(CompileError::LoopTurns { node, kernel, turns, limit: 65_535, .. }) if turns > 65_535 => {
                (node, kernel)
            }
            other => panic!("{:?}", other.map(|p| p.name)),
        }
    };
    let place = |g: &GraphBuilder| {
        let x = g.input("x", tensor(DType::F32, [300_000_001u64]));
        g.output("y", g.named("place").arg_max(x, 0, false));
    };
    assert_eq!(refused(&place), ("place".to_owned(), "arg_reduce.plain".to_owned()));
    let mean = |g: &GraphBuilder| {
        let x = g.input("x", tensor(DType::I32, [1u64 << 25]));
        g.output("y", g.named("mean").reduce_mean(x, &[0], false));
    };
    assert_eq!(refused(&mean), ("mean".to_owned(), "reduce_int.plain".to_owned()));
    let dot = |g: &GraphBuilder| {
        let (a, b) = (
            g.input("a", tensor(DType::F32, [1u64, 1 << 27])),
            g.input("b", tensor(DType::F32, [1u64 << 27, 1])),
        );
        g.output("y", g.named("dot").matmul(a, b));
    };
    assert_eq!(refused(&dot).0, "dot");
    let keys = |g: &GraphBuilder| {
        let q = g.input("q", tensor(DType::F32, [1u64, 1, 1, 256]));
        let k = g.input("k", tensor(DType::F32, [1u64, 1, 40_000, 256]));
        g.output("y", g.named("keys").attention(q, k, k, None, None, Attention::default()));
    };
    assert_eq!(refused(&keys), ("keys".to_owned(), "attention.plain".to_owned()));
}

/// A plan made for a driver without the limit is refused by the checker for one with it, at the upper bound of a
/// symbol.
#[test]
fn plans_for_other_drivers_are_refused() {
    let g = GraphBuilder::new("symbolic");
    let x = g.input("x", tensor(DType::F32, [sym("rows", 1..=160_000), 2.into()]));
    g.output("y", g.named("columns").softmax(x, 0));
    let mut free = Target::lavapipe();
    free.limits.loop_turns = None;
    let graph = g.build().expect("sound");
    let mut plan = compile(&graph, &free, &Options::default(), &RefEval).expect("compiles");
    assert!(check(&plan).is_ok());
    plan.target = Target::lavapipe();
    let faults = check(&plan).expect_err("its loops iterate too often");
    let turns = |f: &Fault| match f {
        Fault::LoopTurns { kernel, turns, limit: 65_535 } if kernel == "softmax_columns.plain" => {
            Some(*turns)
        }
        _ => None,
    };
    assert!(faults.iter().find_map(|e| turns(&e.fault)).is_some_and(|t| t > 65_535), "{faults:?}");
    let plan = compile(&graph, &plan.target, &Options::default(), &RefEval).expect("compiles in parts");
    assert!(check(&plan).is_ok());
}
