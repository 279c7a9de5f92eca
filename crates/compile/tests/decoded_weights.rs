//! Weights in blocks that many rows are multiplied with are decoded by a step of their own in each run, and kept as
//! they are stored.

use pumice_compile::{CompileError, Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, dim, f32, sym, tensor};
use pumice_plan::check::check;
use pumice_plan::{Plan, RegionKind};
use pumice_types::{Bytes, Precision, Scheme, Target};

/// Columns and terms of a weight.
const WIDTH: u64 = 2048;

/// The plan of products of so many rows with each of so many weights.
fn plan(target: Target, precision: Precision, rows: u64, weights: usize) -> Plan {
    let options = Options::default().precision(precision);
    compiled(&target, &options, dim(rows), weights).expect("it compiles")
}

/// The same of rows that may vary.
fn compiled(target: &Target, options: &Options, rows: DimSpec, weights: usize) -> Result<Plan, CompileError> {
    let g = GraphBuilder::new("g");
    let mut x = g.input("x", f32([rows, dim(WIDTH)]));
    for i in 0..weights {
        let w = g.dequantize(g.param(&format!("w{i}"), tensor(Scheme::Q8_0, [WIDTH, WIDTH])));
        x = g.relu(g.linear(x, w, None));
    }
    g.output("y", x);
    let graph = g.build().expect("the graph is sound");
    let plan = compile(&graph, target, options, &RefEval)?;
    check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
    Ok(plan)
}

/// Steps of a run that decode.
fn decoding(plan: &Plan) -> usize {
    let steps = plan.runs[0].program.steps.iter();
    steps.filter(|step| step.label().starts_with("dequantize")).count()
}

#[test]
fn many_rows_have_them_decoded_in_each_run() {
    for precision in [Precision::Exact, Precision::F16, Precision::Bf16] {
        let plan = plan(Target::h200(), precision, 512, 3);
        assert_eq!(decoding(&plan), 3, "{precision}");
        assert!(plan.load.steps.is_empty(), "{precision}: {:?}", plan.load.steps);
        let stored: u64 = plan.params.iter().map(|p| p.span.len.0).sum();
        assert_eq!(plan.region_size(RegionKind::Weights).0, stored.next_multiple_of(256), "{precision}");
    }
}

#[test]
fn values_take_their_bytes_while_they_are_read() {
    let of = |weights| plan(Target::h200(), Precision::Exact, 512, weights);
    let [few, many] = [2, 8].map(|weights| of(weights).region_size(RegionKind::Scratch).0);
    assert!(many < few + 4 * WIDTH * WIDTH, "{few} bytes for 2 weights, {many} for 8");
}

#[test]
fn few_rows_and_cpu_drivers_read_them_as_they_are() {
    assert_eq!(decoding(&plan(Target::h200(), Precision::Exact, 128, 1)), 0);
    assert_eq!(decoding(&plan(Target::lavapipe(), Precision::Exact, 512, 1)), 0);
}

#[test]
fn small_devices_have_no_room_for_values() {
    let mut target = Target::h200();
    target.limits.memory = Bytes(16 * 4 * WIDTH * WIDTH);
    assert_eq!(decoding(&plan(target.clone(), Precision::Exact, 512, 1)), 1);
    target.limits.memory = Bytes(16 * 4 * WIDTH * WIDTH - 1);
    assert_eq!(decoding(&plan(target, Precision::Exact, 512, 1)), 0);
}

/// A value has to lie in one allocation.
#[test]
fn values_larger_than_half_an_allocation_are_not_made() {
    let mut target = Target::h200();
    target.limits.max_allocation = Bytes(2 * 4 * WIDTH * WIDTH);
    assert_eq!(decoding(&plan(target.clone(), Precision::Exact, 512, 1)), 1);
    target.limits.max_allocation = Bytes(2 * 4 * WIDTH * WIDTH - 256);
    assert_eq!(decoding(&plan(target, Precision::Exact, 512, 1)), 0);
}

/// Values rounded once more are there beside the others.
#[test]
fn rounded_values_count() {
    let mut target = Target::h200();
    target.limits.memory = Bytes(16 * 6 * WIDTH * WIDTH);
    assert_eq!(decoding(&plan(target.clone(), Precision::Bf16, 512, 1)), 1);
    target.limits.memory = Bytes(16 * 6 * WIDTH * WIDTH - 1);
    assert_eq!(decoding(&plan(target, Precision::Bf16, 512, 1)), 0);
}

/// One plan for a token and for many would decode every weight for each token.
#[test]
fn a_run_that_may_have_few_rows_reads_them_as_they_are() {
    let of = |least| {
        compiled(&Target::h200(), &Options::default(), sym("t", least..=512), 1).expect("it compiles")
    };
    assert_eq!([1, 63, 64, 129].map(|least| decoding(&of(least))), [0, 0, 1, 1]);
}

/// Where there is no memory for values, the products read blocks.
#[test]
fn little_memory_is_no_reason_to_refuse() {
    let of = |options: &Options| compiled(&Target::h200(), options, dim(512), 1);
    let with = |bytes| of(&Options::default().memory(bytes));
    let whole = of(&Options::default()).expect("there is room");
    let scratch = whole.region_size(RegionKind::Scratch).0;
    assert_eq!(decoding(&whole), 1);
    let rest: u64 =
        [RegionKind::Weights, RegionKind::Scratch].map(|kind| whole.region_size(kind).0).iter().sum();
    let plan = with(rest - scratch / 2).expect("there is room for blocks");
    assert_eq!(decoding(&plan), 0);
    assert!(matches!(with(WIDTH * WIDTH), Err(CompileError::OutOfMemory { .. })));
}
