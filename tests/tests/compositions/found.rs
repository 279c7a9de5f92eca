//! Results as long as the run finds: `unique`, `non_max_suppression`, `range_of_values`.

use super::{all_near, all_pass};
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr, Tensor};

pub fn uniques(runner: &Runner) {
    let case = |d: DType, shape: &[u64], op: Unique, fill: Fill| {
        let sample = Sample::graph(&format!("{d} {shape:?} {op:?} {fill:?}"), |g| {
            unlike(g, g.input("x", tensor(d, shape.iter().copied())), op);
        });
        sample.fill("x", fill)
    };
    let f = DType::F32;
    let mut samples = Vec::new();
    for sorted in [true, false] {
        let of = |axis: Option<i64>| Unique { axis, sorted };
        samples.extend(DType::ALL.map(|d| case(d, &[6, 7], of(None), Fill::Special)));
        samples.extend([
            case(f, &[], of(None), Fill::Any),
            case(f, &[0], of(None), Fill::Any),
            case(f, &[1], of(None), Fill::Constant(f64::NAN)),
            case(f, &[65], of(None), Fill::Constant(0.0)),
            case(f, &[257], of(None), Fill::Normal),
            case(f, &[3, 5, 2], of(Some(1)), Fill::Range(0, 2)),
            case(f, &[12, 2], of(Some(0)), Fill::Range(0, 2)),
            case(f, &[2, 12], of(Some(-1)), Fill::Range(0, 2)),
            case(f, &[4, 0], of(Some(0)), Fill::Any),
            case(f, &[4, 0], of(Some(1)), Fill::Any),
            case(DType::I64, &[2, 2, 9, 2], of(Some(2)), Fill::Range(0, 2)),
        ]);
        samples.extend([0, 1, 9].map(|n| {
            let sample = Sample::graph(&format!("symbolic, {n} of 9, sorted {sorted}"), |g| {
                let x = g.input("x", tensor(f, [sym("n", 0..=9), 3.into()]));
                unlike(g, x, of(None));
                g.output("rows", g.unique(x, of(Some(0)))[0]);
                g.output("columns", g.unique(x, of(Some(1)))[0]);
            });
            sample.bind("n", n).fill("x", Fill::Range(0, 2))
        }));
    }
    all_pass(runner, "unique", samples);
}

/// All results, what a kernel makes of them, and x again.
fn unlike(g: &GraphBuilder, x: Value, op: Unique) {
    let [values, first, inverse, counts] = g.unique(x, op);
    for (name, value) in [("values", values), ("first", first), ("inverse", inverse), ("counts", counts)] {
        g.output(name, value);
    }
    g.output("slices", g.reduce_sum(counts, &[0], false));
    let slices = match op.axis {
        None => g.reshape_to(x, vec![DimExpr::constant(-1)]),
        Some(_) => x,
    };
    let axis = op.axis.unwrap_or(0);
    g.output("firsts", g.gather(slices, first, axis));
    g.output("x again", g.gather(values, inverse, axis));
}

pub fn suppressions(runner: &Runner) {
    let base = NonMaxSuppression { iou_threshold: 0.25, ..NonMaxSuppression::default() };
    let case = |what: &str, [b, c, n]: [u64; 3], op: NonMaxSuppression, scores: Fill| {
        let sample = Sample::graph(&format!("{what} [{b}, {c}, {n}]"), |g| {
            let boxes = g.input("boxes", tensor(DType::F32, [b, n, 4]));
            suppressed(g, boxes, g.input("scores", tensor(DType::F32, [b, c, n])), op);
        });
        sample.fill("boxes", Fill::Uniform(0.0, 1.0)).fill("scores", scores)
    };
    let few = NonMaxSuppression { max_out: 3, score_threshold: Some(0.0), ..base };
    let mut samples = vec![
        case("all", [2, 3, 20], base, Fill::Normal),
        case("three", [2, 3, 20], few, Fill::Normal),
        case("ties", [1, 2, 40], few, Fill::Range(0, 3)),
        case("any", [1, 2, 40], base, Fill::Special),
        case("no score", [1, 2, 9], few, Fill::Constant(-1.0)),
        case("NaN", [1, 2, 9], base, Fill::Constant(f64::NAN)),
        case("none of each", [1, 2, 9], NonMaxSuppression { max_out: 0, ..base }, Fill::Normal),
        case("centres", [1, 2, 30], NonMaxSuppression { center_point_box: true, ..base }, Fill::Normal),
    ];
    samples.extend([[0, 1, 1], [1, 0, 1], [1, 1, 0]].map(|shape| case("empty", shape, base, Fill::Normal)));
    samples.extend([[0, 0, 0], [1, 2, 0], [2, 1, 9], [3, 2, 20]].map(|[b, c, n]| {
        let sample = Sample::graph(&format!("symbolic, {b} of 3, {c} of 2, {n} of 20"), |g| {
            let [batch, class, boxes] = [sym("b", 0..=3), sym("c", 0..=2), sym("n", 0..=20)];
            let scores = g.input("scores", tensor(DType::F32, [batch.clone(), class, boxes.clone()]));
            let boxes = g.input("boxes", tensor(DType::F32, [batch, boxes, 4.into()]));
            suppressed(g, boxes, scores, base);
        });
        let sample = sample.bind("b", b).bind("c", c).bind("n", n);
        sample.fill("boxes", Fill::Uniform(0.0, 1.0))
    }));
    all_pass(runner, "non_max_suppression", samples);
}

/// The rows, and the boxes and scores that they name.
fn suppressed(g: &GraphBuilder, boxes: Value, scores: Value, op: NonMaxSuppression) {
    let kept = g.non_max_suppression(boxes, scores, op);
    g.output("kept", kept);
    g.output("scores", g.gather_nd(scores, kept, 0));
    let of_boxes = g.gather(kept, g.constant(Tensor::new(&[0i32, 2], &[2]).expect("two")), 1);
    g.output("boxes", g.gather_nd(boxes, of_boxes, 0));
}

const NUMBERS: [&str; 3] = ["start", "limit", "delta"];

/// The numbers and their sum, at most nine.
fn numbers(g: &GraphBuilder, d: DType) {
    let [start, limit, delta] = NUMBERS.map(|name| g.input(name, tensor::<u64>(d, [])));
    let numbers = g.range_of_values(start, limit, delta, 0..=9);
    g.output("numbers", numbers);
    g.output("count", g.extent(numbers, 0));
}

fn integers(d: DType, numbers_of: [i64; 3], are_told: bool) -> Sample {
    let sample = Sample::graph(&format!("{d} {numbers_of:?}"), |g| numbers(g, d));
    let fills = NUMBERS.into_iter().zip(numbers_of);
    let sample = fills.fold(sample, |sample, (name, v)| sample.fill(name, Fill::Ints(vec![v])));
    if are_told { sample.expect_status() } else { sample }
}

fn floats(d: DType, numbers_of: [f64; 3], are_told: bool) -> Sample {
    let sample = Sample::graph(&format!("{d} {numbers_of:?}"), |g| numbers(g, d));
    let fills = NUMBERS.into_iter().zip(numbers_of);
    let sample = fills.fold(sample, |sample, (name, v)| sample.fill(name, Fill::Floats(vec![v])));
    if are_told { sample.expect_status() } else { sample }
}

/// Integers whose distance leaves their dtype, floats that no quotient of floats counts, and what is no range.
pub fn ranges(runner: &Runner) {
    let (small, long) = ([DType::I8, DType::U8, DType::I16, DType::U16], DType::I64);
    let (least, most) = (i64::MIN, i64::MAX);
    let mut samples: Vec<Sample> = small.map(|d| integers(d, [100, 120, 7], false)).into();
    samples.extend(
        [[0, 7, 2], [7, -8, -3], [3, 3, 1], [9, 3, 4], [3, 9, -4]]
            .into_iter()
            .flat_map(|of| [DType::I32, long].map(|d| integers(d, of, false))),
    );
    samples.extend([
        integers(DType::I8, [-128, 127, 100], false),
        integers(DType::I8, [127, -128, -128], false),
        integers(DType::U8, [0, 255, 30], false),
        integers(DType::U32, [0, u32::MAX.into(), 1 << 30], false),
        integers(DType::I32, [i32::MIN.into(), i32::MAX.into(), i32::MAX.into()], false),
        integers(DType::I32, [i32::MIN.into(), i32::MAX.into(), 1], true),
        integers(long, [least, most, 1 << 61], false),
        integers(long, [most, least, least], false),
        integers(long, [least, most, most], false),
        integers(long, [least, most, 1], true),
        integers(long, [most, least, -1], true),
        integers(DType::U64, [0, -1, 1 << 61], false),
        integers(DType::U64, [5, -1, -1], false),
        integers(DType::U64, [-1, 5, 1], false),
        integers(DType::U64, [0, -1, 1], true),
        integers(long, [0, 9, 1], false),
        integers(long, [0, 10, 1], true),
        integers(long, [0, 0, 0], true),
        integers(long, [0, 7, 0], true),
        integers(DType::U8, [7, 0, 0], true),
    ]);
    all_pass(runner, "range_of_values of integers", samples);
    let (f, nan, inf) = (DType::F32, f64::NAN, f64::INFINITY);
    let mut samples: Vec<Sample> = super::FLOATS.map(|d| floats(d, [-2.5, 1.0, 0.5], false)).into();
    samples.extend([
        floats(f, [0.0, 0.3, 0.1], false),
        floats(f, [0.0, 0.9, 0.1], false),
        floats(f, [0.0, 1.0, 0.1], true),
        floats(f, [0.0, 1.0, 0.125], false),
        floats(f, [1.0, -1.0, -0.25], false),
        floats(f, [3.0, 1.0, 0.5], false),
        floats(f, [1.0, 1.0, 0.5], false),
        floats(f, [1.0, 2.0, 1e30], false),
        floats(f, [1e20, 3e20, 3e19], false),
        floats(f, [0.0, 3e38, 1e-30], true),
        floats(f, [-3e38, 3e38, 1e38], true),
        floats(f, [0.0, 1.0, 0.0], true),
        floats(f, [0.0, 0.0, -0.0], true),
        floats(f, [nan, 1.0, 1.0], true),
        floats(f, [0.0, nan, 1.0], true),
        floats(f, [0.0, 1.0, nan], true),
        floats(f, [0.0, inf, 1.0], true),
        floats(f, [0.0, 1.0, inf], true),
    ]);
    all_pass_near(runner, samples);
}

/// Elements are sums of a product, each rounded once.
fn all_pass_near(runner: &Runner, samples: Vec<Sample>) {
    let (told, plain): (Vec<Sample>, Vec<Sample>) = samples.into_iter().partition(|sample| sample.status);
    all_near(runner, "range_of_values of floats", 1e-6, plain);
    all_pass(runner, "range_of_values of floats", told);
}
