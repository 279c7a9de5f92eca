//! Programs in less memory than they would take: what is computed again, and what is said where that does not suffice.

use pumice_compile::{CompileError, OptOptions, Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{Graph, GraphBuilder, Value, f32};
use pumice_plan::{CheckedPlan, Plan, RegionKind};
use pumice_types::Target;

const ROWS: u64 = 256;
const WIDTH: u64 = 128;

/// The gradients of a mean of squares behind layers of a product and a gelu.
fn deep(layers: usize) -> Graph {
    let g = GraphBuilder::new("deep");
    let mut x = g.input("x", f32([ROWS, WIDTH]));
    let mut weights: Vec<Value> = Vec::new();
    for layer in 0..layers {
        let w = g.param(&format!("h.{layer}.weight"), f32([WIDTH, WIDTH]));
        weights.push(w);
        x = g.add(x, g.gelu(g.linear(x, w, None)));
    }
    let loss = g.reduce_mean(g.square(x), &[], false);
    g.output("loss", loss);
    for (layer, gradient) in g.grad(loss, &weights).into_iter().enumerate() {
        // Only its size is an output, so that the gradients are values like any other.
        g.output(&format!("norm.{layer}"), g.reduce_sum(g.square(gradient), &[], false));
    }
    g.build().expect("sound")
}

fn bytes(plan: &Plan) -> u64 {
    [RegionKind::Weights, RegionKind::States, RegionKind::Scratch]
        .iter()
        .map(|&k| plan.region_size(k).0)
        .sum()
}

fn plan(graph: &Graph, options: &Options) -> Result<Plan, CompileError> {
    compile(graph, &Target::lavapipe(), options, &RefEval)
}

#[test]
fn a_limit_is_kept() {
    let graph = deep(8);
    let all = plan(&graph, &Options::default()).expect("it fits");
    let scratch = all.region_size(RegionKind::Scratch).0;
    let fixed = bytes(&all) - scratch;
    let mut times = vec![all.runs[0].stats.floor.total_us];
    for share in [0.9, 0.75, 0.6] {
        let limit = fixed + (scratch as f64 * share) as u64;
        let options = Options::default().memory(limit);
        let less = plan(&graph, &options).unwrap_or_else(|e| panic!("{share}: {e}"));
        assert!(bytes(&less) <= limit, "{share}: {} of {limit}", bytes(&less));
        let again = less.runs[0].stats.again.unwrap_or_else(|| panic!("{share}: nothing is computed again"));
        assert!(again.steps > 0 && again.scratch.0 == scratch, "{again:?}");
        assert!(less.to_string().contains("again  "), "the plan says so");
        assert_eq!(plan(&graph, &options).as_ref(), Ok(&less), "the same again");
        times.push(less.runs[0].stats.floor.total_us);
        CheckedPlan::new(less).unwrap_or_else(|e| panic!("{share}: {e}"));
    }
    assert!(times.windows(2).all(|t| t[0] < t[1]), "less memory, more time: {times:?}");
    assert!(times[3] < 1.5 * times[0], "{times:?}");
    let enough = plan(&graph, &Options::default().memory(bytes(&all))).expect("as much as it takes");
    assert_eq!(enough, all);
}

#[test]
fn a_limit_that_cannot_be_kept_says_what_is_needed() {
    let graph = deep(4);
    let all = plan(&graph, &Options::default()).expect("it fits");
    let fixed = bytes(&all) - all.region_size(RegionKind::Scratch).0;
    for limit in [0, fixed / 2, fixed, fixed + 4096] {
        match plan(&graph, &Options::default().memory(limit)) {
            Err(CompileError::OutOfMemory { needed, available, target, .. }) => {
                assert!(needed.0 > limit && needed.0 <= bytes(&all), "{limit}: {needed}");
                assert_eq!((available.0, target.as_str()), (limit, "the limit of memory"));
            }
            other => panic!("{limit}: {other:?}"),
        }
    }
}

/// What is told is what the program needs where everything is computed again that may be: whatever the limit was, that
/// much is enough, and no limit below it is.
#[test]
fn what_is_needed_is_enough_and_no_less_is() {
    for layers in [1, 2, 4, 8] {
        let graph = deep(layers);
        let all = bytes(&plan(&graph, &Options::default()).expect("it fits"));
        let told = |limit: u64| match plan(&graph, &Options::default().memory(limit)) {
            Err(CompileError::OutOfMemory { needed, .. }) => needed.0,
            other => panic!("{layers} layers in {limit}: {other:?}"),
        };
        let needed = told(0);
        assert!(layers < 4 || 4 * needed < 3 * all, "{layers} layers: {needed} of {all}");
        let less = plan(&graph, &Options::default().memory(needed)).expect("as much as is told");
        assert_eq!(bytes(&less), needed);
        for limit in [needed / 2, needed - needed / 10, needed - needed / 50, needed - 1] {
            assert_eq!(told(limit), needed, "{layers} layers in {limit}");
        }
    }
}

#[test]
fn the_pass_can_be_left_out() {
    let graph = deep(4);
    let all = bytes(&plan(&graph, &Options::default()).expect("it fits"));
    let options = Options::default().memory(all - 1).opt(OptOptions::without("recompute"));
    let refused = plan(&graph, &options);
    assert!(
        matches!(refused, Err(CompileError::OutOfMemory { needed, .. }) if needed.0 == all),
        "{refused:?}"
    );
}

/// Large values that only late steps read are made late, and no level is added.
#[test]
fn steps_with_slack_wait() {
    let g = GraphBuilder::new("slack");
    let x = g.input("x", f32([64u64, 64]));
    let small = g.input("small", f32([1u64, 64]));
    let chain = (0..4).fold(small, |y, _| g.softmax(y, -1));
    // Four large values that only the end reads; each follows from one row.
    let large: Vec<Value> =
        (0..4).map(|i| g.softmax(g.matmul(x, g.param(&format!("w{i}"), f32([64u64, 64]))), -1)).collect();
    let mut sum = chain;
    for y in large {
        sum = g.softmax(g.add(sum, y), -1);
        sum = g.reduce_mean(sum, &[0], true);
    }
    g.output("y", sum);
    let plan = plan(&g.build().expect("sound"), &Options::default()).expect("it fits");
    let stats = &plan.runs[0].stats;
    assert!(stats.scratch_lower_bound < stats.scratch_earliest, "{stats:?}");
    assert!(plan.to_string().contains("earliest "), "the plan says so");
    CheckedPlan::new(plan).unwrap_or_else(|e| panic!("{e}"));
}

/// A chain of rows: each step writes over what it reads, so that the whole chain takes one value's bytes.
#[test]
fn results_lie_over_operands_that_nobody_reads_later() {
    let g = GraphBuilder::new("over");
    let (x, y) = (g.input("x", f32([64u64, 64])), g.input("y", f32([64u64, 64])));
    let product = g.matmul(x, y);
    let end = (0..3).fold(product, |v, _| g.softmax(v, -1));
    g.output("z", g.matmul(end, y));
    let graph = g.build().expect("sound");
    let scratch = |options: &Options| {
        let plan = plan(&graph, options).expect("it fits");
        let bytes = plan.region_size(RegionKind::Scratch).0;
        CheckedPlan::new(plan).unwrap_or_else(|e| panic!("{e}"));
        bytes
    };
    let one = 64 * 64 * 4;
    assert_eq!(scratch(&Options::default()), one);
    assert_eq!(scratch(&Options::default().placement(pumice_plan::Placement::Bump)), 4 * one);
}
