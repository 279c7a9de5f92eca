//! What a user can do wrong, at the border of the package: each kind of [`CompileError`] with what it carries, and a
//! text that says where the mistake is and what would help.

use pumice_compile::{CompileError, OptOptions, Options, Unsupported, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use pumice_ir::ops::recurrent_layer::RecurrentLayer;
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, Value, f32, i32, i64, sym};
use pumice_plan::CheckedPlan;
use pumice_types::limits::{LARGEST_INDEX, MOST_CHOICES};
use pumice_types::{Bytes, DType, Target};

const KIB: u64 = 1 << 10;

/// A device with room for 64 KiB, of which one value takes 16 KiB at most.
fn small() -> Target {
    let mut target = Target { name: "small".into(), ..Target::lavapipe() };
    target.limits.max_allocation = Bytes(16 * KIB);
    target.limits.memory = Bytes(64 * KIB);
    target
}

/// Why the graph cannot be compiled for a target.
fn refusal(build: impl FnOnce(&GraphBuilder), target: &Target, options: &Options) -> CompileError {
    let g = GraphBuilder::new("g");
    build(&g);
    let graph = g.build().expect("the graph itself is sound");
    compile(&graph, target, options, &RefEval).expect_err("refused")
}

/// Asserts that a graph for the small target has a value, of that name and size, that no allocation holds.
#[track_caller]
fn assert_too_large(build: impl FnOnce(&GraphBuilder), value: &str, bytes: u64) {
    let e = refusal(build, &small(), &Options::default());
    let text = e.to_string();
    let CompileError::TooLarge { name, needed, available, target, .. } = e else { panic!("{text}") };
    assert_eq!(name, value);
    assert_eq!((needed, available), (Bytes(bytes), Bytes(16 * KIB)));
    assert_eq!(target, "small");
    for part in [value, "small", "16.0 KiB", "split it"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn a_param_larger_than_an_allocation() {
    let rows = |rows: u64| {
        move |g: &GraphBuilder| {
            let w = g.param("table", f32([rows, 64]));
            g.output("y", g.add(g.input("x", f32([64u64])), g.narrow(w, 0, 0u64, 1u64)));
        }
    };
    // 64 rows * 64 * 4 = 16 KiB are the most that fit.
    assert_too_large(rows(65), "table", 65 * 64 * 4);
    let g = GraphBuilder::new("fits");
    rows(64)(&g);
    let graph = g.build().expect("the graph itself is sound");
    assert!(compile(&graph, &small(), &Options::default(), &RefEval).is_ok());
}

/// Where symbols make it so large, they are told with their upper bounds.
#[test]
fn an_input_larger_than_an_allocation_at_its_upper_bounds() {
    let build = |g: &GraphBuilder| {
        let x = g.input("x", f32([sym("b", 1..=16), 4.into(), sym("h", 3..=128)]));
        g.output("y", g.relu(x));
    };
    let refused = refusal(build, &small(), &Options::default()).to_string();
    let told = "x needs 32.0 KiB at b = 16, h = 128, the largest allocation of small is 16.0 KiB; \
                bound its symbols lower, or split it";
    assert_eq!(refused, told);
}

#[test]
fn a_state_larger_than_an_allocation() {
    assert_too_large(
        |g| {
            let cache = g.state_read(g.state("cache", f32([100u64, 64])));
            g.output("y", g.add(g.input("x", f32([64u64])), g.narrow(cache, 0, 0u64, 1u64)));
        },
        "cache",
        100 * 64 * 4,
    );
}

#[test]
fn an_input_larger_than_an_allocation_at_the_end_of_its_range() {
    assert_too_large(
        |g| g.output("y", g.reduce_sum(g.input("rows", f32([sym("n", 1..=1000), 8.into()])), &[0], true)),
        "rows",
        1000 * 8 * 4,
    );
}

/// The outer product of two vectors that fit; only its sums leave the device.
#[test]
fn an_intermediate_larger_than_an_allocation() {
    assert_too_large(
        |g| {
            let (a, b) = (g.input("a", f32([100u64, 1])), g.input("b", f32([1u64, 100])));
            g.output("y", g.reduce_sum(g.named("outer").matmul(a, b), &[0], true));
        },
        "outer",
        100 * 100 * 4,
    );
}

#[test]
fn tensors_that_fit_alone_and_not_together() {
    // Each 8 KiB: 5 params, 3 states and, for the result that the reduction reads, one value in scratch.
    let build = |params: usize| {
        move |g: &GraphBuilder| {
            let shape = || f32([32u64, 64]);
            let params = (0..params).map(|i| g.param(&format!("w{i}"), shape()));
            let mut values: Vec<_> = params.collect();
            values.extend((0..3).map(|i| g.state_read(g.state(&format!("s{i}"), shape()))));
            let sum = values.into_iter().fold(g.input("x", shape()), |sum, v| g.add(sum, v));
            g.output("y", g.softmax(sum, -1));
            g.output("sum", g.reduce_sum(sum, &[0, 1], true));
        }
    };
    let e = refusal(build(5), &small(), &Options::default());
    let text = e.to_string();
    let CompileError::OutOfMemory { needed, weights, states, scratch, besides, available, target } = e else {
        panic!("{text}")
    };
    assert_eq!((weights, states), (Bytes(5 * 8 * KIB), Bytes(3 * 8 * KIB)));
    assert!(scratch > Bytes::ZERO && scratch <= Bytes(16 * KIB), "{scratch}");
    assert_eq!(needed, weights + states + scratch);
    assert!(besides >= Bytes(2 * 8 * KIB), "the input and the output `y`: {besides}");
    assert_eq!((available, target.as_str()), (Bytes(64 * KIB), "small"));
    let parts =
        ["weights 40.0 KiB", "states 24.0 KiB", "small has 64.0 KiB", "narrower params", "upper bound"];
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let g = GraphBuilder::new("fits");
    build(3)(&g);
    let graph = g.build().expect("the graph itself is sound");
    assert!(compile(&graph, &small(), &Options::default(), &RefEval).is_ok());
}

/// Asserts that options contradict a graph with the symbol `rows`, and that the text has these parts.
#[track_caller]
fn assert_options(options: Options, parts: &[&str]) {
    let build = |g: &GraphBuilder| g.output("y", g.relu(g.input("x", f32([sym("rows", 1..=100), 4.into()]))));
    match refusal(build, &Target::lavapipe(), &options) {
        CompileError::Options(text) => {
            parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is not in: {text}"))
        }
        other => panic!("{other}"),
    }
}

fn cut(symbol: &str, ends: &[u64]) -> Options {
    Options::default().specializations(vec![(symbol.to_owned(), ends.to_vec())])
}

#[test]
fn ranges_of_a_symbol_that_is_not_there() {
    assert_options(cut("columns", &[1]), &["`columns`", "no such symbol"]);
}

/// The plan of such ranges was wrong: no run begins with what it finds.
#[test]
fn ranges_of_a_symbol_that_the_run_finds() {
    let build = |g: &GraphBuilder| {
        let n = g.named("n").extent_of(g.input("count", i32::<u64>([])), 0..=7);
        g.output("y", g.narrow(g.input("x", f32([7])), 0, 0u64, n));
    };
    match refusal(build, &Target::lavapipe(), &cut("n", &[1, 3])) {
        CompileError::Options(text) => {
            assert!(text.contains("`n`") && text.contains("only the run finds its value"), "{text}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_param_to_keep_that_is_not_there() {
    assert_options(Options::default().keep(["nope"]), &["`nope`, which is no param: the graph has none"]);
}

#[test]
fn ends_of_ranges_that_do_not_ascend() {
    assert_options(cut("rows", &[8, 1]), &["`rows`", "must ascend"]);
    assert_options(cut("rows", &[8, 8]), &["`rows`", "must ascend"]);
    // Also those outside the symbol's range, which make no range of their own.
    assert_options(cut("rows", &[300, 200]), &["`rows`", "must ascend"]);
}

#[test]
fn a_pass_that_cannot_be_left_out() {
    let without = |name: &str| Options::default().opt(OptOptions::without(name));
    assert_options(without("fuse_everything"), &["`fuse_everything`", "no such pass", "fold_constants"]);
    assert_options(without("decompose"), &["`decompose`", "without it"]);
}

/// A division that may report needs 64-bit integers in kernels. The node after the first is not reported again.
#[test]
fn every_node_without_a_lowering_is_listed() {
    let mut target = Target::lavapipe();
    target.features.int64 = false;
    let build = |g: &GraphBuilder| {
        let (a, b) = (g.input("a", i64([4u64])), g.input("b", i64([4u64])));
        let quotient = g.named("quotient").div(a, b);
        g.output("double", g.add(quotient, quotient));
        g.output("other", g.named("other_quotient").div(b, a));
    };
    let e = refusal(build, &target, &Options::default());
    let text = e.to_string();
    let CompileError::Unsupported(nodes) = e else { panic!("{text}") };
    let names: Vec<&str> = nodes.iter().map(|u| u.node.as_str()).collect();
    assert_eq!(names, ["quotient", "other_quotient"]);
    assert!(text.starts_with("2 node(s)"), "{text}");
    for Unsupported { node, op, types, reason } in &nodes {
        assert_eq!((*op, types.as_str()), ("div", "(i64[4], i64[4]) -> i64[4]"));
        assert!(!reason.is_empty() && text.contains(&format!("{node} (div {types}): {reason}")), "{text}");
    }
}

/// Recurrences whose state no group holds are no host steps: they are refused with the number and what is held.
#[test]
fn states_that_no_group_holds() {
    let refused = |build: &dyn Fn(&GraphBuilder), expected: &str| {
        let e = refusal(build, &Target::lavapipe(), &Options::default());
        let text = e.to_string();
        let CompileError::Unsupported(nodes) = e else { panic!("{text}") };
        assert!(nodes.len() == 1 && nodes[0].reason.contains(expected), "{text}");
    };
    let layer = |steps: DimSpec, units: u64| {
        move |g: &GraphBuilder| {
            let (xw, r) = (
                g.input("xw", f32([steps.clone(), 1.into(), units.into()])),
                g.param("r", f32([units, units])),
            );
            g.output("y", g.recurrent_layer([xw, r], [None; 5], RecurrentLayer::default())[0]);
        }
    };
    refused(&layer(sym("t", 0..=9), 2049), "2049 hidden units: one group holds 2048");
    let keys = |g: &GraphBuilder| {
        let [q, k] = ["q", "k"].map(|name| g.input(name, f32([1, 1, 1, 4097])));
        let v = g.input("v", f32([1, 1, 1, 2]));
        g.output(
            "o",
            g.linear_recurrence([q, k, v], RecurrenceOptions::default(), LinearRecurrence::default()).0,
        );
    };
    refused(&keys, "4097 keys of a state: one group holds 4096");
    // A constant number of steps is a level each, of any width.
    let g = GraphBuilder::new("g");
    layer(2.into(), 2049)(&g);
    let graph = g.build().expect("the graph itself is sound");
    assert!(compile(&graph, &Target::lavapipe(), &Options::default(), &RefEval).is_ok());
}

/// A driver that ends loops early: the node, the kernel, its trips and the limit, at the upper bound of a symbol.
#[test]
fn loops_that_the_driver_would_end() {
    let mut target = Target { name: "brief".into(), ..Target::lavapipe() };
    target.limits.loop_turns = Some(100);
    let build = |most: u64| {
        move |g: &GraphBuilder| {
            let (a, b) = (
                g.input("a", f32([4.into(), sym("k", 1..=most)])),
                g.input("b", f32([sym("k", 1..=most), 4.into()])),
            );
            g.output("y", g.named("scores").matmul(a, b));
        }
    };
    let e = refusal(build(1_000_000), &target, &Options::default());
    let text = e.to_string();
    let CompileError::LoopTurns { node, kernel, turns, limit, target: on } = e else { panic!("{text}") };
    assert_eq!((node.as_str(), limit, on.as_str()), ("scores", 100, "brief"));
    assert!(kernel.starts_with("matmul_f32") && turns > 100, "{kernel} {turns}");
    for part in ["scores", kernel.as_str(), turns.to_string().as_str(), "after 100", "another device"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let g = GraphBuilder::new("short enough");
    build(4)(&g);
    assert!(compile(&g.build().expect("sound"), &target, &Options::default(), &RefEval).is_ok());
    target.limits.loop_turns = None;
    let g = GraphBuilder::new("no limit");
    build(1_000_000)(&g);
    assert!(compile(&g.build().expect("sound"), &target, &Options::default(), &RefEval).is_ok());
}

/// Operands of more elements than kernels count in 32 bits: the node, the operand, its last element.
#[test]
fn operands_that_kernels_cannot_count_to() {
    const MOST: u64 = LARGEST_INDEX;
    let mut target = Target { name: "roomy".into(), ..Target::lavapipe() };
    target.limits.max_allocation = Bytes(64 << 30);
    target.limits.memory = Bytes(512 << 30);
    let exp = |most: u64| {
        move |g: &GraphBuilder| {
            let x = g.input("x", f32([sym("n", 1..=most), 16.into()]));
            g.output("y", g.named("power").exp(x));
        }
    };
    // One row more than the largest number of rows.
    let rows = (MOST + 1) / 16;
    let e = refusal(exp(rows + 1), &target, &Options::default());
    let text = e.to_string();
    let CompileError::Index { node, operand, index, most } = e else { panic!("{text}") };
    assert_eq!((node.as_str(), operand.as_str(), index, most), ("power", "x", 16 * rows + 15, MOST));
    for part in ["power", "`x`", index.to_string().as_str(), most.to_string().as_str(), "split"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let g = GraphBuilder::new("just enough");
    exp(rows)(&g);
    compile(&g.build().expect("sound"), &target, &Options::default(), &RefEval).expect("fits");
}

/// Sums of sizes and guards left 64 bits and the process ended.
#[test]
fn guards_larger_than_an_allocation_are_refused() {
    let g = GraphBuilder::new("guarded");
    let x = g.input("x", f32([4u64]));
    g.output("y", g.neg(g.exp(x)));
    let graph = g.build().expect("sound");
    for guard_bytes in [u64::MAX, u64::MAX / 2, u64::MAX - 255, 1 << 40, (1 << 30) + 1] {
        let options = Options::default().guard_bytes(guard_bytes);
        let refused = compile(&graph, &Target::lavapipe(), &options, &RefEval).expect_err("too much");
        assert!(matches!(refused, CompileError::Options(_)), "{refused:?}");
        assert!(refused.to_string().contains("guard_bytes"), "{refused}");
    }
    let g = GraphBuilder::new("large");
    let x = g.input("x", f32([(1u64 << 28) + 64]));
    g.output("y", g.neg(x));
    let options = Options::default().guard_bytes(1 << 30);
    let graph = g.build().expect("sound");
    let refused = compile(&graph, &Target::lavapipe(), &options, &RefEval).expect_err("with its guard");
    assert!(matches!(refused, CompileError::TooLarge { .. }), "{refused:?}");
}

/// What the builder lets pass and no kernel counts, is told of its node, and is no wrong option: a view of as many
/// counts as its reader would have to know at once.
#[test]
fn counts_that_only_a_copy_would_follow_from() {
    let build = |g: &GraphBuilder| {
        let x = g.input("x", f32([9u64; 5]));
        let cut = (0..5).fold(x, |x, axis| {
            let n = g.extent_of(g.input(&format!("n{axis}"), i32::<u64>([])), 0..=9);
            g.named(&format!("cut{axis}")).narrow(x, axis, 0u64, n)
        });
        g.output("y", cut);
    };
    let text = match refusal(build, &Target::lavapipe(), &Options::default()) {
        CompileError::Unsupported(nodes) => {
            nodes.iter().map(|n| format!("{}: {}", n.node, n.reason)).collect::<Vec<_>>().join("; ")
        }
        other => panic!("{other}"),
    };
    assert!(
        text.contains("it follows from 5 found extents, branches and loops at once, at most 4"),
        "{text}"
    );
}

/// As many choices in one another as a graph may have are as many as the checker lets a step stand under.
#[test]
fn as_many_choices_as_there_may_be_become_a_plan() {
    fn inside(g: &GraphBuilder, x: Value, of: Value, deep: usize) -> Value {
        if deep == 0 {
            return g.exp(x);
        }
        let is = g.less(of, g.constant_scalar(DType::I32, deep as f64));
        let [y] = g.if_(is, |g| [inside(g, g.neg(x), of, deep - 1)], |_| [x]);
        y
    }
    for looped in [false, true] {
        let g = GraphBuilder::new("deep");
        let (x, s) = (g.input("x", f32([4u64])), g.scalar("s", i32::<u64>([]), 0.0, 20.0, 3.0));
        let y = match looped {
            true => g.loop_(100u64, [x], |g, _, [x]| [inside(g, x, s, MOST_CHOICES)])[0],
            false => inside(&g, x, s, MOST_CHOICES),
        };
        g.output("y", y);
        let plan = compile(&g.build().expect("sound"), &Target::lavapipe(), &Options::default(), &RefEval);
        let checked = CheckedPlan::new(plan.expect("compiles"));
        assert!(checked.is_ok(), "{looped}: {}", checked.map(|_| ()).expect_err("refused"));
    }
}
