//! Samples of operands that steer: lengths, positions, indices, whose values decide what is read and written.
//!
//! In: what such an operand is a place in, and how it is applied. Out: samples with the values at which sums wrap and
//! comparisons turn, given as an input and as a dynamic scalar. Every op with such an operand names it in
//! [`OpDef::STEERS`](super::OpDef::STEERS) and has these samples; a test keeps both.

use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::{i32, tensor};
use pumice_types::DType;

/// Values of an i32 that steers, for something of `bound` places.
pub fn extremes(bound: i64) -> [i64; 7] {
    [i64::from(i32::MIN), -1, 0, bound, bound + 1, 1 << 30, i64::from(i32::MAX)]
}

/// One sample for each value and each way of giving it, as rank 0. `build` gets the operand; `raises` says for which
/// values the status must report something.
pub fn steering_samples(
    what: &str,
    bound: i64,
    raises: impl Fn(i64) -> bool,
    build: impl Fn(&GraphBuilder, Value),
) -> Vec<Sample> {
    let mut samples = Vec::new();
    for value in extremes(bound) {
        let input = Sample::graph(&format!("{what}, {value} as an input"), |g| {
            build(g, g.input("steer", i32::<u64>([])));
        });
        let scalar = Sample::graph(&format!("{what}, {value} as a scalar"), |g| {
            let (least, most) = (f64::from(i32::MIN), f64::from(i32::MAX));
            build(g, g.scalar("steer", i32::<u64>([]), least, most, 0.0));
        });
        for sample in [input.fill("steer", Fill::Ints(vec![value])), scalar.scalar("steer", value as f64)] {
            samples.push(if raises(value) { sample.expect_status() } else { sample });
        }
    }
    samples
}

/// All values at once, as an input of `shape`, whose extents multiply to seven.
pub fn steering_list(
    what: &str,
    dtype: DType,
    bound: i64,
    shape: &[u64],
    build: impl Fn(&GraphBuilder, Value),
) -> Sample {
    let mut values = extremes(bound).to_vec();
    if dtype == DType::I64 {
        // Low words that would be inside, were they all there is.
        values[0] = i64::MIN;
        values[5] = 1 << 32;
        values[6] = i64::MAX;
    }
    Sample::graph(&format!("{what}, {dtype} {shape:?} of {values:?}"), |g| {
        build(g, g.input("steer", tensor(dtype, shape.iter().copied())));
    })
    .fill("steer", Fill::Ints(values))
}
