//! Scatters whose indices are equal again and again: the same bits twice, and within T2 of the evaluator's.

use super::Drawn;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::{Fill, Sample, i32, tensor};
use pumice_tests::draws::Draws;
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

/// Which rows, and what of them.
struct Sizes {
    rows: u64,
    width: u64,
    updates: u64,
}

fn drawn(seed: u64) -> Drawn {
    let mut d = Draws(seed);
    let reductions = [
        ScatterReduction::Set,
        ScatterReduction::Add,
        ScatterReduction::Add,
        ScatterReduction::Mul,
        ScatterReduction::Max,
        ScatterReduction::Min,
    ];
    let (dtype, reduction) =
        (d.of(&[DType::F32, DType::F32, DType::F16, DType::BF16, DType::I32]), d.of(&reductions));
    let updates = if d.below(5) == 0 { 200 + d.below(900) } else { 1 + d.below(40) } as u64;
    let sizes = Sizes { rows: 1 + d.below(6) as u64, width: 1 + d.below(9) as u64, updates };
    let kind = d.below(4);
    let label = format!(
        "seed {seed}, {dtype}, {reduction:?}, kind {kind}, {} of {} in {}",
        sizes.updates, sizes.width, sizes.rows
    );
    // Products of many stay about one.
    let fill = match (reduction, dtype.is_float()) {
        (ScatterReduction::Mul, true) => Fill::Floats(vec![0.75, -1.25, 1.5, 0.5, -1.125, 1.0, 1.25]),
        (_, true) => Fill::Normal,
        _ => Fill::Range(-3, 4),
    };
    let bound = if kind == 1 { sizes.width } else { sizes.rows } as i64;
    let sample = scatter(&label, kind, dtype, reduction, &sizes);
    let sample = sample.fill("x", fill.clone()).fill("u", fill).fill("i", Fill::Range(-bound, bound));
    Drawn::new("scatters", sample)
}

/// Along the rows, along the width, of slices, or into zeros: then `x` is not read.
fn scatter(label: &str, kind: usize, dtype: DType, reduction: ScatterReduction, sizes: &Sizes) -> Sample {
    let Sizes { rows, width, updates } = *sizes;
    Sample::graph(label, |g| {
        let x = g.input("x", tensor(dtype, [rows, width]));
        let y = match kind {
            0 => {
                let (i, u) =
                    (g.input("i", i32([updates, width])), g.input("u", tensor(dtype, [updates, width])));
                g.scatter_elements(x, i, u, 0, reduction)
            }
            1 => {
                let (i, u) =
                    (g.input("i", i32([rows, updates])), g.input("u", tensor(dtype, [rows, updates])));
                g.scatter_elements(x, i, u, 1, reduction)
            }
            2 => {
                let (i, u) = (g.input("i", i32([updates, 1])), g.input("u", tensor(dtype, [updates, width])));
                g.scatter_nd(x, i, u, reduction)
            }
            _ => {
                let (i, u) = (g.input("i", i32([updates])), g.input("u", tensor(dtype, [updates, width])));
                g.scatter_add(u, i, rows)
            }
        };
        g.output("y", y);
    })
}

fn hold(drawn: &Drawn, runner: &Runner) {
    let plan = drawn.plan(runner);
    let (first, second) = (drawn.outputs(runner, plan.clone()), drawn.outputs(runner, plan));
    assert_eq!(first, second, "{}: other bits", drawn.name());
    drawn.is_as_evaluated(runner);
}

kept_everywhere!(|seed, runner: &Runner| hold(&drawn(seed), runner));
