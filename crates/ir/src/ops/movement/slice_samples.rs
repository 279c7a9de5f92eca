//! Samples of `Slice`: clamping, steps of both signs, empty results, 64-bit extremes, symbolic extents.

use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

const MAX: i64 = i64::MAX;
const MIN: i64 = i64::MIN;

fn case(d: DType, shape: &[u64], starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {starts:?}..{ends:?} of {axes:?} by {steps:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.slice(x, starts, ends, axes, steps));
    })
    .fill("x", Fill::Any)
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[10], &[0], &[10], &[], &[]),
        case(f, &[10], &[2], &[7], &[], &[]),
        case(f, &[10], &[-3], &[MAX], &[], &[]),
        case(f, &[10], &[0], &[-1], &[], &[]),
        case(f, &[10], &[7], &[2], &[], &[]),
        case(f, &[10], &[20], &[30], &[], &[]),
        case(f, &[10], &[-30], &[3], &[], &[]),
        case(f, &[10], &[MIN], &[MAX], &[], &[]),
        case(f, &[10], &[0], &[10], &[0], &[3]),
        case(f, &[10], &[1], &[10], &[0], &[100]),
        case(f, &[10], &[0], &[10], &[0], &[MAX]),
        case(f, &[10], &[-1], &[MIN], &[0], &[-1]),
        case(f, &[10], &[9], &[0], &[0], &[-2]),
        case(f, &[10], &[8], &[MIN], &[0], &[-2]),
        case(f, &[10], &[MAX], &[MIN], &[0], &[-3]),
        case(f, &[10], &[2], &[7], &[0], &[-1]),
        case(f, &[10], &[-2], &[-8], &[0], &[-3]),
        case(f, &[0], &[0], &[5], &[], &[]),
        case(f, &[0], &[-1], &[MIN], &[0], &[-1]),
        case(f, &[1], &[-1], &[MIN], &[0], &[-1]),
        case(f, &[], &[], &[], &[], &[]),
        case(f, &[20, 10, 5], &[0, 0], &[3, 10], &[0, 1], &[]),
        case(f, &[20, 10, 5], &[1, -3], &[-1, MAX], &[2, 0], &[2, 1]),
        case(f, &[20, 10, 5], &[-1, -1, -1], &[MIN, MIN, MIN], &[0, 1, 2], &[-1, -2, -3]),
        case(f, &[2, 3, 4], &[1], &[2], &[-3], &[]),
        case(f, &[64, 65], &[1, 1], &[64, 64], &[], &[]),
        case(f, &[7, 1025], &[3], &[1000], &[1], &[]),
        case(f, &[1, 2, 1, 3, 2, 1, 2, 4], &[1, 0], &[3, 3], &[7, 3], &[1, 2]),
        case(f, &[4096, 3], &[4095], &[MIN], &[0], &[-1]),
        // Many elements from an odd place on, of one row and of several.
        case(f, &[65_543], &[3], &[MAX], &[0], &[]),
        case(f, &[7, 9_375], &[1, 3], &[MAX, MAX], &[], &[]),
    ];
    samples.extend(DType::ALL.map(|d| case(d, &[5, 9], &[1, 8], &[4, 0], &[], &[2, -3])));
    samples.push(Sample::graph("of a transposed operand, twice", |g| {
        let x = g.input("x", tensor(f, [9u64, 12]));
        let y = g.slice(g.transpose(x, &[]), &[1, 1], &[11, 8], &[], &[2, 1]);
        g.output("y", g.slice(y, &[1], &[4], &[0], &[]));
    }));
    samples.extend([1, 4, 5, 9].map(symbolic));
    samples
}

/// Ranges of an axis whose extent n is bound late: clamped starts and ends, from the end, backward, by expressions.
fn symbolic(n: u64) -> Sample {
    Sample::graph(&format!("symbolic, {n} of 9"), |g| {
        let x = g.input("x", tensor(DType::F32, [sym("n", 1..=9), 6.into()]));
        let rows = g.dim_of(x, 0);
        g.output("head", g.slice(x, &[0], &[4], &[0], &[]));
        g.output("tail", g.slice(x, &[-3], &[MAX], &[0], &[]));
        g.output("inner", g.slice(x, &[2], &[-1], &[0], &[2]));
        g.output("backward", g.slice(x, &[-1], &[MIN], &[0], &[-1]));
        g.output("last", g.narrow(x, 0, rows.clone() - DimExpr::constant(1), 1u64));
        g.output("half", g.narrow(x, 0, 0u64, rows.floor_div(&DimExpr::constant(2))));
    })
    .bind("n", n)
}
