//! Samples of loops that write states: as many turns as a symbol says, in two runs of one session.

use crate::builder::{GraphBuilder, Value};
use crate::ops::kv_append::AppendMode;
use crate::sample::{Fill, Sample};
use crate::shape::{f32, i32, sym, tensor};
use pumice_types::{DType, DimExpr};

/// Rows of six that turns are given, one each.
const WIDTH: u64 = 6;
/// The same, as an extent to expand to.
const SHAPE: [i64; 1] = [WIDTH as i64];

/// Samples of loops that carry states.
pub(super) fn state_samples(what: &str) -> Vec<Sample> {
    let mut samples: Vec<Sample> = [0, 1, 7, 40].map(|n| heat(what, n)).to_vec();
    samples.extend([0, 1, 30].map(|n| sums(what, n)));
    samples.extend([0, 5, 9].map(|n| appended(what, n, DType::F32, AppendMode::Circular)));
    samples.push(appended(what, 8, DType::BF16, AppendMode::Linear));
    samples.push(appended(what, 11, DType::F16, AppendMode::Linear).expect_status());
    samples.extend([0, 1, 6].map(|n| several_versions(what, n)));
    samples.push(read_alone(what));
    samples
}

/// A sample whose turns have rows x of whole numbers; the loop is made of x and the number of its turns.
fn of_rows(label: &str, n: u64, build: impl FnOnce(&GraphBuilder, Value, DimExpr)) -> Sample {
    let sample = Sample::graph(label, |g| {
        let x = g.input("x", f32([sym("n", 0..=40), WIDTH.into()]));
        build(g, x, g.dim_of(x, 0));
    });
    sample.bind("n", n).fill("x", Fill::Range(-8, 8)).runs(2)
}

/// Steps of the heat equation: each point becomes what its neighbours say.
fn heat(what: &str, n: u64) -> Sample {
    of_rows(&format!("{what}: {n} steps of the heat equation"), n, |g, _, turns| {
        let s = g.state_from("s", g.param("start", f32([12, 5])));
        let share = g.constant_scalar(DType::F32, 0.125);
        let [s] = g.loop_(turns, [s], |g, _, [s]| {
            let t = g.state_read(s);
            let middle = g.narrow(t, 0, 1u64, 10u64);
            let sides = g.add(g.narrow(t, 0, 0u64, 10u64), g.narrow(t, 0, 2u64, 10u64));
            let moved = g.mul(share, g.sub(sides, g.add(middle, middle)));
            let [top, bottom] = [0u64, 11].map(|at| g.narrow(t, 0, at, 1u64));
            [g.state_write(s, g.concat(&[top, g.add(middle, moved), bottom], 0))]
        });
        g.output("y", g.state_read(s));
    })
}

/// A state to which each turn adds its row, where it lies; what was there before, and in each turn, is summed beside.
fn sums(what: &str, n: u64) -> Sample {
    of_rows(&format!("{what}: {n} rows are added"), n, |g, x, turns| {
        let (s, zero) = (g.state("s", f32([WIDTH])), g.expand(g.constant_scalar(DType::F32, 0.0), &SHAPE));
        let before = g.state_read(s);
        let [s, sum] = g.loop_(turns, [s, zero], |g, i, [s, sum]| {
            let next = g.add(g.state_read(s), g.gather(x, i, 0));
            [g.state_write(s, next), g.add(sum, g.add(next, before))]
        });
        g.output("y", g.state_read(s));
        g.output("sum", sum);
    })
}

/// A cache that each turn appends its row to, in the place of its number.
fn appended(what: &str, n: u64, dtype: DType, mode: AppendMode) -> Sample {
    of_rows(&format!("{what}: {n} rows of {dtype}, {mode:?}"), n, |g, x, turns| {
        let s = g.cache("s", tensor(dtype, [8, WIDTH]), 0);
        let [s] = g.loop_(turns, [s], |g, i, [s]| {
            let row = g.unsqueeze(g.gather(x, i, 0), &[0]);
            [g.kv_append(s, row, i, 0, mode)]
        });
        g.output("y", g.cast(g.state_read(s), DType::F32));
    })
}

/// Turns that write one state three times, what no turn changes among it, and read versions between; then it is
/// written again.
fn several_versions(what: &str, n: u64) -> Sample {
    of_rows(&format!("{what}: {n} turns of several versions"), n, |g, x, turns| {
        let (s, fixed) = (g.state("s", f32([4, WIDTH])), g.param("fixed", f32([4, WIDTH])));
        let one = g.constant_scalar(DType::I32, 1.0);
        let zero = g.expand(g.constant_scalar(DType::F32, 0.0), &SHAPE);
        let fixed = g.round(fixed);
        let [s, sum] = g.loop_(turns, [s, zero], |g, i, [s, sum]| {
            let (row, old) = (g.unsqueeze(g.gather(x, i, 0), &[0]), g.state_read(s));
            let s = g.state_write(s, fixed);
            let s = g.kv_append(s, row, one, 0, AppendMode::Linear);
            let between = g.state_read(s);
            let s = g.kv_append(s, g.neg(row), i, 0, AppendMode::Circular);
            let all = g.sub(g.add(between, g.state_read(s)), old);
            [s, g.add(sum, g.reduce_sum(all, &[0], false))]
        });
        let s = g.kv_append(s, g.unsqueeze(sum, &[0]), one, 0, AppendMode::Linear);
        g.output("y", g.state_read(s));
        g.output("sum", sum);
    })
}

/// A state that turns carry, read and leave as it is.
fn read_alone(what: &str) -> Sample {
    let sample = Sample::graph(&format!("{what}: a state that is read alone"), |g| {
        let (x, limit) = (g.input("x", f32([WIDTH])), g.input("limit", i32::<u64>([])));
        let (s, one) = (g.state("s", f32([WIDTH])), g.constant_scalar(DType::I32, 1.0));
        let [s, sum, _] = g.while_(
            20,
            [s, x, g.constant_scalar(DType::I32, 0.0)],
            |g, [_, _, i]| g.less(i, limit),
            |g, [s, sum, i]| [s, g.add(sum, g.state_read(s)), g.add(i, one)],
        );
        g.output("y", g.state_read(g.state_write(s, sum)));
    });
    sample.fill("x", Fill::Range(-8, 8)).fill("limit", Fill::Ints(vec![3])).runs(2)
}
