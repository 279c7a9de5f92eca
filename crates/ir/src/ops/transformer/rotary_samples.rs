//! Samples of `Rotary`: both styles and layouts, partial rotation, every form of tables and positions, large positions.

use crate::builder::{GraphBuilder, Value};
use crate::ops::attention::AttentionLayout;
use crate::ops::rotary::Rotary;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, i32, sym, tensor};
use pumice_types::DType::{self, *};

/// Batch, heads, sequence and width.
type Size = [u64; 4];

fn shape(layout: AttentionLayout, n: Size) -> [u64; 4] {
    let mut shape = [0; 4];
    layout.axes().into_iter().zip(n).for_each(|(axis, extent)| shape[axis] = extent);
    shape
}

/// Computed angles; `pos` of rank 0 or \[B, S\].
fn computed(n: Size, op: Rotary, dtype: DType, rank0: bool, fill: Fill) -> Sample {
    Sample::graph(&format!("{dtype} {n:?} {op:?} pos rank {} {fill:?}", if rank0 { 0 } else { 2 }), |g| {
        let x = g.input("x", tensor(dtype, shape(op.layout, n)));
        let pos = g.input("pos", i32(if rank0 { vec![] } else { vec![n[0], n[2]] }));
        g.output("y", g.rotary(x, pos, op.clone()));
    })
    .fill("pos", fill)
}

fn tables(n: Size, op: Rotary, dtype: DType, rows: &[u64], pos: Option<(&[u64], Fill)>) -> Sample {
    let half = op.n_rot.map_or(n[3], |r| r as u64) / 2;
    let label = format!("{dtype} {n:?} {op:?} tables of {rows:?} by {pos:?}");
    let sample = Sample::graph(&label, |g| {
        let x = g.input("x", tensor(dtype, shape(op.layout, n)));
        let table = |name: &str| g.param(name, tensor(dtype, rows.iter().copied().chain([half])));
        let (cos, sin) = (table("cos"), table("sin"));
        let pos = pos.as_ref().map(|(shape, _)| g.input("pos", i32(shape.iter().copied())));
        g.output("y", g.rotary_tables(x, cos, sin, pos, op.clone()));
    })
    .fill("cos", Fill::Uniform(-1.0, 1.0))
    .fill("sin", Fill::Uniform(-1.0, 1.0));
    pos.into_iter().fold(sample, |s, (_, fill)| s.fill("pos", fill))
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let base = [2, 3, 5, 16];
    let mut samples = Vec::new();
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        for interleaved in [false, true] {
            let op = Rotary { layout, interleaved, ..Rotary::default() };
            let partial = Rotary { n_rot: Some(6), ..op.clone() };
            samples.extend([
                computed(base, op.clone(), F32, true, Fill::Constant(0.0)),
                computed(base, op.clone(), F32, true, Fill::Constant(1234.0)),
                computed(base, op.clone(), F32, false, Fill::Range(0, 4096)),
                computed(base, partial.clone(), F32, false, Fill::Range(0, 100)),
                computed([1, 1, 1, 2], op.clone(), F32, true, Fill::Constant(7.0)),
                computed([3, 2, 33, 64], op.clone(), F32, true, Fill::Constant(5.0)),
                computed([2, 1, 7, 130], partial.clone(), F32, false, Fill::Range(0, 9)),
                tables(base, op.clone(), F32, &[5], None),
                tables(base, op.clone(), F32, &[2, 5], None),
                tables(base, op.clone(), F32, &[40], Some((&[2, 5], Fill::Range(0, 40)))),
                tables(base, op.clone(), F32, &[40], Some((&[], Fill::Constant(31.0)))),
                tables(base, partial.clone(), F32, &[5], None),
                tables(base, partial, F32, &[9], Some((&[2, 5], Fill::Range(0, 9)))),
                // As many rows as batch and sequence have together: the rank says what they are.
                tables(base, op, F32, &[10], Some((&[2, 5], Fill::Range(0, 10)))),
            ]);
        }
    }
    let op = Rotary::default();
    for dtype in [F16, BF16] {
        samples.push(computed(base, op.clone(), dtype, false, Fill::Range(0, 512)));
        samples.push(tables(base, op.clone(), dtype, &[5], None));
    }
    let slow = Rotary { theta: 1e6, freq_scale: 0.25, ..op.clone() };
    samples.extend([
        computed(base, op.clone(), F32, true, Fill::Constant(70_000.0)),
        computed([1, 2, 3, 128], op.clone(), F32, false, Fill::Range(65_536, 2_000_000)),
        computed(base, op.clone(), F32, true, Fill::Constant(-3.0)),
        computed(base, slow, F32, false, Fill::Range(0, 131_072)),
        computed(base, Rotary { n_rot: Some(0), ..op.clone() }, F32, true, Fill::Constant(3.0)),
        computed([2, 3, 0, 16], op.clone(), F32, true, Fill::Constant(3.0)),
        computed([0, 3, 5, 16], op.clone(), F32, false, Fill::Constant(3.0)),
        computed([70, 1000, 1, 2], op.clone(), F32, true, Fill::Constant(3.0)),
        tables(base, op.clone(), F32, &[8], Some((&[2, 5], Fill::Range(0, 12)))).expect_status(),
        tables(base, op, F32, &[8], Some((&[], Fill::Constant(6.0)))).expect_status(),
    ]);
    samples.extend([1, 6, 20].map(by_scalar));
    samples.extend(super::rotary_scaling_samples::samples());
    samples.extend(extreme_positions());
    samples
}

/// Positions at the ends of i32, of a first row and of every row; tables have nine rows, negative ones none.
fn extreme_positions() -> Vec<Sample> {
    let op = Rotary::default();
    let by_table = |g: &GraphBuilder, pos: Value, shape: [u64; 4]| {
        let table = |name: &str| g.param(name, tensor(F32, [9u64, 4]));
        let x = g.input("x", tensor(F32, shape));
        g.output("y", g.rotary_tables(x, table("cos"), table("sin"), Some(pos), op.clone()));
    };
    let by_angle = |g: &GraphBuilder, pos: Value, shape: [u64; 4]| {
        g.output("y", g.rotary(g.input("x", tensor(F32, shape)), pos, op.clone()));
    };
    let outside = |p: i64| !(0..=6).contains(&p);
    let mut samples =
        steering_samples("a table by the first row", 9, outside, |g, p| by_table(g, p, [2, 2, 3, 8]));
    samples.extend(steering_samples(
        "angles by the first row",
        9,
        |_| false,
        |g, p| {
            by_angle(g, p, [2, 2, 3, 8]);
        },
    ));
    samples.push(
        steering_list("a table by rows", I32, 8, &[1, 7], |g, p| by_table(g, p, [1, 2, 7, 8]))
            .expect_status(),
    );
    samples.push(steering_list("angles by rows", I32, 8, &[7, 1], |g, p| by_angle(g, p, [7, 2, 1, 8])));
    samples
}

/// Positions from a dynamic scalar, sequence bound late.
fn by_scalar(s: u64) -> Sample {
    Sample::graph(&format!("positions from a scalar, {s} rows"), |g| {
        let size: [DimSpec; 4] = [1.into(), sym("s", 1..=20), 2.into(), 8.into()];
        let x = g.input("x", tensor(F32, size));
        let pos = g.scalar_advancing("pos", 0, 1_000_000, 0, g.dim_of(x, 1));
        let op = Rotary { layout: AttentionLayout::Bshd, ..Rotary::default() };
        g.output("y", g.rotary(x, pos, op));
    })
    .bind("s", s)
    .scalar("pos", 17.0)
    .runs(3)
}
