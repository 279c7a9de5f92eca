//! Samples of `GroupedMatMul`: ids of every kind, experts as they may be stored, few rows and many.

use super::grouped_matmul::GroupedMatMul;
use crate::builder::{GraphBuilder, Value};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, LONG_AXIS, Sample};
use crate::shape::{i32, sym, tensor};
use pumice_types::{DType, Scheme};

const F: DType = DType::F32;

/// All samples.
pub(super) fn samples() -> Vec<Sample> {
    let mut samples = shapes();
    samples.extend(stored());
    samples.extend(ids());
    samples.extend([0, 1, 7, 90].map(symbolic));
    samples
}

fn by(trans: bool) -> GroupedMatMul {
    GroupedMatMul { trans, ..GroupedMatMul::default() }
}

/// Extents of the weights of so many experts.
fn weights([experts, k, n]: [u64; 3], trans: bool) -> [u64; 3] {
    if trans { [experts, n, k] } else { [experts, k, n] }
}

fn case(d: DType, id: &[u64], [experts, k, n]: [u64; 3], trans: bool) -> Sample {
    let of = if trans { "[E, N, K]" } else { "[E, K, N]" };
    Sample::graph(&format!("{d} {id:?} by {experts} of {k} to {n}, {of}"), |g| {
        let x = g.input("x", tensor(d, [id[0], k]));
        let w = g.param("w", tensor(d, weights([experts, k, n], trans)));
        let id = g.input("id", i32(id.iter().copied()));
        g.output("y", g.grouped_matmul(x, w, id, by(trans)));
    })
    .fill("id", Fill::Range(0, experts as i64))
}

/// Rows by experts and extents: one row, one expert, more experts than rows, tiles and one more.
fn shapes() -> Vec<Sample> {
    let shapes: [(&[u64], [u64; 3]); 22] = [
        (&[1], [1, 1, 1]),
        (&[1], [4, 64, 33]),
        (&[1, 8], [16, 48, 20]),
        (&[7], [3, 31, 17]),
        (&[5, 2], [6, 36, 24]),
        (&[9], [1, 8, 4]),
        (&[0], [2, 3, 3]),
        (&[0, 2], [2, 3, 3]),
        (&[3], [2, 0, 5]),
        (&[3], [2, 5, 0]),
        (&[3, 0], [2, 5, 4]),
        (&[40], [1100, 4, 3]),
        (&[65], [1, 33, 65]),
        (&[80], [3, 64, 64]),
        (&[100], [1, 64, 68]),
        (&[40, 3], [4, 40, 36]),
        (&[128], [4, 32, 128]),
        (&[129], [16, 129, 33]),
        (&[300, 2], [7, 20, 5]),
        (&[80], [2, 0, 5]),
        (&[70], [2, 3, 1]),
        (&[9000], [1100, 3, 2]),
    ];
    let mut samples = Vec::new();
    for (id, extents) in shapes {
        samples.extend([false, true].map(|trans| case(F, id, extents, trans)));
    }
    for d in [DType::F16, DType::BF16] {
        for id in [&[5, 2][..], &[80]] {
            samples.extend([false, true].map(|trans| case(d, id, [4, 36, 20], trans)));
        }
    }
    let long = case(F, &[2], [2, 70_003, 3], true);
    let label = format!("{LONG_AXIS}: {}", long.label);
    samples
        .push(Sample { label, ..long }.fill("x", Fill::Uniform(0.0, 1.0)).fill("w", Fill::Uniform(0.0, 1.0)));
    samples.push(extremes(&[6], 4));
    samples.push(extremes(&[90], 3));
    samples
}

/// What is not finite stays in the rows and columns that it is in.
fn extremes(id: &[u64], experts: u64) -> Sample {
    let sample = case(F, id, [experts, 9, 13], true);
    let label = format!("NaN and infinities: {}", sample.label);
    let of = |n: usize, at: usize, v: f64| {
        let mut all: Vec<f64> = (0..n).map(|i| (i * 5 % 13) as f64 / 4.0 - 1.5).collect();
        all[at] = v;
        Fill::Floats(all)
    };
    Sample { label, ..sample }.fill("x", of(521, 30, f64::NAN)).fill("w", of(523, 101, f64::INFINITY))
}

/// Experts in 16 bits under f32 rows, and in blocks; several at a time, of all rows and of a slice of them.
fn stored() -> Vec<Sample> {
    let mut samples = Vec::new();
    for rows in [1u64, 3, 90] {
        for d in [DType::F16, DType::BF16] {
            samples.extend([(72, 20), (71, 21)].map(|(k, n)| {
                let sample =
                    Sample::graph(&format!("{rows} rows by experts of {k} to {n} stored as {d}"), |g| {
                        let x = g.input("x", tensor(F, [rows, k]));
                        let w = g.cast(g.param("w", tensor(d, [4, n, k])), F);
                        let id = g.input("id", i32([rows]));
                        g.output("y", g.grouped_matmul(x, w, id, by(true)));
                    });
                sample.fill("id", Fill::Range(0, 4)).fill("w", Fill::Normal)
            }));
        }
        samples.extend(Scheme::ALL.into_iter().flat_map(|scheme| in_blocks(scheme, rows)));
    }
    samples
}

fn in_blocks(scheme: Scheme, rows: u64) -> Vec<Sample> {
    let k = 2 * scheme.elements();
    let product = |what: &str, n: u64, build: &dyn Fn(&GraphBuilder, Value, Value, Value)| {
        Sample::graph(&format!("{rows} rows by experts in {scheme} {what}, {n} columns"), |g| {
            let x = g.input("x", tensor(F, [rows, k]));
            let w = g.param("w", tensor(scheme, [4, n, k]));
            build(g, x, w, g.input("id", i32([rows, 2])));
        })
        .fill("id", Fill::Range(0, 4))
    };
    let plain =
        |g: &GraphBuilder, x, w, id| g.output("y", g.grouped_matmul(x, g.dequantize(w), id, by(true)));
    let sliced = |g: &GraphBuilder, x, w, id| {
        let some = g.dequantize(g.narrow(w, 1, 1u64, 3u64));
        g.output("y", g.grouped_matmul(x, some, id, by(true)));
    };
    let n = if rows > 3 { 37 } else { 5 };
    vec![product("as they are", n, &plain), product("of which some rows", 6, &sliced)]
}

/// Samples of an operand of ids of five experts at its extremes.
pub(super) fn steered(
    what: &str,
    build: impl Fn(&GraphBuilder, Value) -> Value,
    raises: impl Fn(i64) -> bool,
) -> Vec<Sample> {
    let one = |g: &GraphBuilder, id: Value| g.output("y", build(g, g.reshape(id, &[1])));
    let mut samples = steering_samples(what, 5, &raises, one);
    let list = steering_list(what, DType::I32, 5, &[7], |g, id| g.output("y", build(g, id)));
    samples.push(if raises(-1) { list.expect_status() } else { list });
    samples
}

/// Ids outside, all of one expert, experts that nobody takes.
fn ids() -> Vec<Sample> {
    let experts = |g: &GraphBuilder, id: Value| {
        let rows = g.dim_of(id, 0).as_extent().unwrap_or(1);
        let x = g.input("x", tensor(F, [rows, 6]));
        g.grouped_matmul(x, g.param("w", tensor(F, [5, 6, 3])), id, by(false))
    };
    let mut samples = steered("an expert", experts, |i| !(0..5).contains(&i));
    // `rows` that are not those of the ids say nothing.
    let hinted = |g: &GraphBuilder, rows: Value, count: u64| {
        let (x, id) = (g.input("x", tensor(F, [count, 6])), g.input("id", i32([count])));
        let w = g.param("w", tensor(F, [3, 6, 3]));
        g.output("y", g.apply(by(false), &[x, w, id, rows]));
    };
    let hints = steering_samples(
        "rows of experts",
        5,
        |_| false,
        |g, rows| {
            hinted(g, g.expand(rows, &[14]), 10);
        },
    );
    let list = steering_list("rows of experts", DType::I32, 5, &[7], |g, rows| hinted(g, rows, 3));
    samples.extend(hints.into_iter().chain([list]).map(|sample| sample.fill("id", Fill::Range(0, 3))));
    let of = |what: &str, id: &[u64], values: Vec<i64>| {
        let sample = case(F, id, [5, 20, 9], true);
        let label = format!("{what}: {}", sample.label);
        Sample { label, ..sample }.fill("id", Fill::Ints(values))
    };
    samples.extend([
        of("one expert", &[6], vec![3]),
        of("one expert", &[150], vec![3]),
        of("the last expert", &[50, 2], vec![4]),
        of("experts that nobody takes", &[90], vec![4, 1]),
        of("ids outside", &[6], vec![0, -1, 4, 5, 2]).expect_status(),
        of("ids outside", &[90], vec![0, -1, 4, 5, 2]).expect_status(),
        of("no id inside", &[50, 2], vec![-3, 9]).expect_status(),
    ]);
    samples.extend(hidden());
    samples
}

/// The layers of a block of experts: one finding of rows for three products; a transposed weight. Numbers are small
/// integers, whose sums and products are exact.
fn hidden() -> Vec<Sample> {
    let sample = |rows: u64| {
        let sample = Sample::graph(&format!("{rows} rows by two experts each, up and down"), |g| {
            let (x, id) = (g.input("x", tensor(F, [rows, 24])), g.input("id", i32([rows, 2])));
            let up = g.grouped_matmul(x, g.param("up", tensor(F, [4, 20, 24])), id, by(true));
            let gate = g.grouped_matmul(x, g.param("gate", tensor(F, [4, 20, 24])), id, by(true));
            let hidden = g.reshape(g.mul(up, g.relu(gate)), &[2 * rows as i64, 20]);
            let down = g.transpose(g.param("down", tensor(F, [4, 24, 20])), &[0, 2, 1]);
            let flat = g.reshape(id, &[2 * rows as i64]);
            let y = g.grouped_matmul(hidden, down, flat, by(false));
            g.output("y", g.reduce_sum(g.reshape(y, &[rows as i64, 2, 24]), &[1], false));
        });
        let integers = |period: usize| Fill::Floats((0..period).map(|i| (i * 5 % 3) as f64 - 1.0).collect());
        let fills = ["x", "up", "gate", "down"].into_iter().zip([7, 11, 13, 17]);
        let filled = fills.fold(sample, |sample, (name, period)| sample.fill(name, integers(period)));
        filled.fill("id", Fill::Range(0, 4))
    };
    [2, 40].map(sample).to_vec()
}

fn symbolic(rows: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {rows} rows of 90"), |g| {
        let t = || sym("t", 0..=90);
        let x = g.input("x", tensor(F, [t(), 12.into()]));
        let w = g.param("w", tensor(F, [4u64, 8, 12]));
        let id = g.input("id", tensor(DType::I32, [t(), 2.into()]));
        g.output("y", g.grouped_matmul(x, w, id, by(true)));
        let one = g.input("one", tensor(DType::I32, [t()]));
        g.output("one", g.grouped_matmul(x, g.param("v", tensor(F, [30u64, 12, 5])), one, by(false)));
    });
    sample.fill("id", Fill::Range(0, 4)).fill("one", Fill::Range(0, 30)).bind("t", rows)
}
