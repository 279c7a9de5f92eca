//! Reductions of few long rows, cut into parts as for a GPU: the steps of their plans, and results on every device.

use pumice_cpu_ref::Interpreter;
use pumice_ir::sample::Fill;
use pumice_ir::shape::tensor;
use pumice_ir::{GraphBuilder, Sample, Value, bool_, f32, sym};
use pumice_plan::{Grid, Plan, StepKind};
use pumice_tests::device;
use pumice_tests::op_suite::{Case, Outcome, Runner};
use pumice_types::{DType, Target};
use pumice_vulkan::DeviceOptions;
use std::sync::Arc;

const MOST_ELEMENTS: u64 = 1 << 21;

/// Kernels of a run with their workgroups, level by level.
type Steps = &'static [&'static [(&'static str, u64)]];

fn case(
    label: &str,
    shape: &[u64],
    fill: Fill,
    steps: Steps,
    reduce: impl FnOnce(&GraphBuilder, Value) -> Value,
) -> (Case, Steps) {
    let sample = Sample::graph(label, |g| {
        let x = g.input("x", pumice_ir::shape::tensor(pumice_types::DType::F32, shape.iter().copied()));
        g.output("y", reduce(g, x));
    });
    (Case::new("split", sample.fill("x", fill)), steps)
}

/// A NaN among the last elements, after all parts.
fn late_nan(n: usize) -> Fill {
    let mut values = vec![0.25; n];
    (values[n / 2], values[n - 1]) = (3.0, f64::NAN);
    Fill::Floats(values)
}

fn cases() -> Vec<(Case, Steps)> {
    let mut cases = vec![
        case(
            "a long row",
            &[1, 1 << 20],
            Fill::Normal,
            &[&[("reduce_rows", 256)], &[("reduce_rows", 1)]],
            |g, x| g.reduce_sum(x, &[1], false),
        ),
        case(
            "everything",
            &[4, 512, 512],
            Fill::Normal,
            &[&[("reduce_rows", 256)], &[("reduce_rows", 1)]],
            |g, x| g.reduce_mean(x, &[], true),
        ),
        case("rows of a prime", &[3, 262_147], Fill::Normal, &[&[("reduce_rows", 3)]], |g, x| {
            g.reduce_mean(x, &[1], true)
        }),
        case(
            "a row of a prime",
            &[1_000_003],
            late_nan(1_000_003),
            &[
                &[("reduce_rows", 244), ("elementwise_strided", 3)],
                &[("reduce_rows", 1), ("reduce_rows", 1)],
                &[("elementwise_flat", 1)],
            ],
            |g, x| g.reduce_min(x, &[0], false),
        ),
        case(
            "columns",
            &[2, 200_000, 2],
            Fill::Special,
            &[&[("reduce_columns", 500)], &[("reduce_columns", 2)]],
            |g, x| g.reduce_max(x, &[1], false),
        ),
        case(
            "columns of a prime",
            &[1, 65_537, 5],
            Fill::Normal,
            &[
                &[("reduce_columns", 528), ("elementwise_strided", 2)],
                &[("reduce_columns", 1), ("reduce_columns", 1)],
                &[("elementwise_flat", 1)],
            ],
            |g, x| g.reduce_mean(x, &[1], true),
        ),
        case("many rows", &[600, 1024], Fill::Normal, &[&[("reduce_rows", 150)]], |g, x| {
            g.reduce_sum(x, &[1], false)
        }),
    ];
    cases.extend(softmaxes());
    let symbolic = Sample::graph("a symbol of rows", |g| {
        let x = g.input("x", f32([sym("n", 0..=4), 100_000u64.into()]));
        g.output("y", g.reduce_sum(x, &[1], false));
    });
    let steps: Steps = &[&[("reduce_rows", 100)], &[("reduce_rows", 1)]];
    cases.push((Case::new("split", symbolic.bind("n", 3)), steps));
    cases.extend(varying());
    cases
}

/// What joins the first elements with those that remain.
const JOINED: &[(&str, u64)] = &[("elementwise_flat", 1)];

/// Extents that vary: parts of as many as there are, of none where there are few.
fn varying() -> Vec<(Case, Steps)> {
    let rows = |n: u64| sym("n", 0..=n);
    let sum = |dtype| {
        move |g: &GraphBuilder| {
            let x = g.input("x", tensor(dtype, [rows(1 << 20)]));
            g.output("y", g.reduce_sum(x, &[0], false));
        }
    };
    let mean = |g: &GraphBuilder| {
        let x = g.input("x", f32([1.into(), rows(70_000), 3.into(), 5.into()]));
        g.output("y", g.reduce_mean(x, &[1, 2], true));
    };
    let most = |g: &GraphBuilder| {
        let x = g.input("x", f32([rows(300_000), 4.into()]));
        g.output("y", g.reduce_max(x, &[], false));
    };
    let of_a_row: Steps = &[
        &[("reduce_rows", 256), ("elementwise_strided", 8)],
        &[("reduce_rows", 1), ("reduce_rows", 1)],
        JOINED,
    ];
    let of_integers: Steps = &[
        &[("reduce_int", 512), ("elementwise_strided", 8)],
        &[("reduce_int", 1), ("reduce_int", 1)],
        JOINED,
    ];
    let of_columns: Steps = &[
        &[("reduce_columns", 525), ("elementwise_strided", 8), ("elementwise_strided", 1)],
        &[("reduce_columns", 1), ("reduce_columns", 1)],
        JOINED,
    ];
    let of_all: Steps = &[
        &[("reduce_rows", 527), ("elementwise_strided4", 3)],
        &[("reduce_rows", 1), ("reduce_rows", 1)],
        JOINED,
    ];
    let of_found: Steps = &[
        &[("status_begin", 1), ("elementwise_flat", 196)],
        &[("scan_words", 196)],
        &[("scan_words", 1)],
        &[("scan_words", 196)],
        &[("elementwise_strided", 1), ("elementwise_strided", 1)],
        &[("found_count", 1), ("frame_find", 1)],
        &[("fill", 782)],
        &[("search_sorted", 782)],
        &[("gather", 782)],
        &[("reduce_rows", 291), ("elementwise_strided", 9)],
        &[("reduce_rows", 1), ("reduce_rows", 1)],
        JOINED,
    ];
    let mut cases = Vec::new();
    for n in [0, 1, 5, 1023, 1 << 10, 700_001, 1 << 20] {
        let graph = Sample::graph(&format!("a varying row of {n}"), sum(DType::F32));
        cases.push((Case::new("split", graph.bind("n", n)), of_a_row));
    }
    for n in [0, 3, 700_001] {
        let graph = Sample::graph(&format!("integers, {n} of them"), sum(DType::I32));
        cases.push((Case::new("split", graph.bind("n", n)), of_integers));
    }
    for n in [1, 2, 69_997] {
        let graph = Sample::graph(&format!("a mean of varying columns of {n}"), mean);
        cases.push((Case::new("split", graph.bind("n", n)), of_columns));
    }
    for n in [1u64, 100, 299_999] {
        let graph = Sample::graph(&format!("a NaN at the end of {n}"), most);
        let fill = late_nan(4 * n as usize);
        cases.push((Case::new("split", graph.bind("n", n).fill("x", fill)), of_all));
    }
    let short = Sample::graph("short columns that vary", |g| {
        g.output("y", g.reduce_sum(g.input("x", f32([rows(512), 64.into()])), &[0], false));
    });
    let in_one: Steps = &[&[("reduce_columns", 8)]];
    cases.push((Case::new("split", short.bind("n", 300)), in_one));
    let found = Sample::graph("as many as are found", |g| {
        let (x, keep) = (g.input("x", f32([200_000, 3])), g.input("keep", bool_([200_000])));
        g.output("y", g.reduce_sum(g.compress(x, keep, Some(0)), &[], false));
    });
    cases.push((Case::new("split", found), of_found));
    cases
}

/// Few rows that are too long for one group, which become reductions where these are cut.
fn softmaxes() -> [(Case, Steps); 5] {
    let softmax = |g: &GraphBuilder, x| g.softmax(x, -1);
    let of_a_prime: Steps = &[
        &[("reduce_rows", 64), ("elementwise_strided", 1)],
        &[("reduce_rows", 1), ("reduce_rows", 1)],
        &[("elementwise_flat", 1)],
        &[("elementwise_flat", 257)],
        &[("reduce_rows", 64), ("elementwise_strided", 1)],
        &[("reduce_rows", 1), ("reduce_rows", 1)],
        &[("elementwise_flat", 1)],
        &[("elementwise_flat", 257)],
    ];
    let of_29_parts: Steps = &[
        &[("reduce_rows", 15)],
        &[("reduce_rows", 1)],
        &[("elementwise_flat", 50)],
        &[("reduce_rows", 15)],
        &[("reduce_rows", 1)],
        &[("elementwise_flat", 50)],
    ];
    let of_four_rows: Steps = &[
        &[("reduce_rows", 64)],
        &[("reduce_rows", 1)],
        &[("elementwise_strided4", 256)],
        &[("reduce_rows", 64)],
        &[("reduce_rows", 1)],
        &[("elementwise_strided4", 256)],
    ];
    let of_three_with_log: Steps = &[
        &[("reduce_rows", 30)],
        &[("reduce_rows", 1)],
        &[("elementwise_strided4", 118)],
        &[("reduce_rows", 30)],
        &[("reduce_rows", 1)],
        &[("elementwise_flat", 1)],
        &[("elementwise_strided4", 118)],
    ];
    let wide = Fill::Uniform(-90.0, 90.0);
    [
        case("softmax of a long row", &[1, 50_257], Fill::Normal, of_29_parts, softmax),
        case("softmax of a row of a prime", &[262_147], late_nan(262_147), of_a_prime, softmax),
        case("softmax of few rows", &[4, 65_536], wide, of_four_rows, softmax),
        case("softmax of rows of a prime", &[2, 262_147], Fill::Normal, &[&[("softmax_rows", 2)]], softmax),
        case("log-softmax of few rows", &[3, 40_000], Fill::Normal, of_three_with_log, |g, x| {
            g.log_softmax(x, 1)
        }),
    ]
}

fn levels(plan: &Plan) -> Vec<Vec<(&str, u64)>> {
    let program = &plan.runs[0].program;
    fn of_step(step: &StepKind) -> (&str, u64) {
        match step {
            StepKind::Dispatch { call, grid } => {
                let (Grid::Static(g) | Grid::Frame { upper: g, .. }) = grid;
                (call.kernel.0.as_ref(), g.iter().map(|&n| u64::from(n)).product())
            }
            _ => ("other", 0),
        }
    }
    program.levels.iter().map(|l| program.steps_of(l).map(|(_, s)| of_step(&s.kind)).collect()).collect()
}

/// The steps for an H200: two levels where a number divides the axis, three where some elements remain, whose copy is
/// small and beside the first parts.
#[test]
fn plans_for_a_gpu_have_two_steps() {
    let device = Arc::new(Interpreter::new(Target::h200()));
    let runner = Runner::new(device, MOST_ELEMENTS);
    let mut others = String::new();
    for (case, steps) in cases() {
        let graph = case.sample.graph.as_ref().expect("a graph");
        let plan = runner.plan(graph).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let made = levels(&plan);
        if made != steps {
            others += &format!("{}: {made:?}, not {steps:?}\n", case.name());
        }
    }
    assert!(others.is_empty(), "{others}");
}

fn assert_close(runner: &Runner) {
    for (case, _) in cases() {
        assert_eq!(runner.run(&case), Outcome::Passed, "{}", case.name());
    }
}

#[test]
fn interpreted_plans_for_a_gpu_are_close() {
    assert_close(&Runner::new(Arc::new(Interpreter::new(Target::h200())), MOST_ELEMENTS));
}

mod on_device {
    use super::*;

    /// The device as it is, and as if it were a large GPU.
    #[test]
    fn results_are_close() {
        let mut runner = Runner::new(device::open(&DeviceOptions::default()), MOST_ELEMENTS);
        assert_close(&runner);
        runner.target = runner.target.selecting_as(&Target::h200());
        assert_close(&runner);
    }
}
