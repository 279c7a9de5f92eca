//! `ReduceProd`: the product over axes.

use super::elementwise::NUMERIC;
use super::elementwise_samples::unary_case;
use super::reduce::reduction;
use crate::sample::{Fill, Sample};
use pumice_types::DType;

reduction! {
    /// Πx over axes (ONNX ReduceProd); 1 over an empty set.
    ReduceProd reduce_prod, NUMERIC, factors(), odd_integers(), beyond_the_range()
}

/// 509 floats of both signs whose product is near ±1: numbers of 1 to 1.25, each followed by the reciprocal of the one
/// before it. Prime, so that rows and columns of any length meet all of them, and no product leaves the range of a
/// float, nor does one of a part.
fn factors() -> Fill {
    let factor = |i: u64| 1.0 + (i * 97 % 254) as f64 / 1016.0;
    let pair = |i: u64| {
        let sign = if i.is_multiple_of(3) { -1.0 } else { 1.0 };
        [sign * factor(i), 1.0 / factor((i + 253) % 254)]
    };
    Fill::Floats((0..254).flat_map(pair).chain([-1.0]).collect())
}

/// Integers of which one in thirteen is even: products of 37 wrap in every width and are 0 in none.
fn odd_integers() -> Fill {
    Fill::Ints(vec![3, 1, -1, 3, -3, 2, -1, 3, 1, -3, -3, 5, 7])
}

/// Rows whose products pass the largest float and the smallest.
fn beyond_the_range() -> Vec<Sample> {
    let rows = [("infinity", 2.0), ("minus infinity", -2.0), ("zero", 0.5)];
    let row = |(label, factor): (&str, f64)| {
        unary_case(
            &format!("a row beyond the range: {label}"),
            DType::F32,
            &[1, 259],
            &Fill::Constant(factor),
            &|g, x| g.reduce_prod(x, &[1], false),
        )
    };
    rows.into_iter().map(row).collect()
}
