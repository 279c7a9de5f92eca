//! Samples of `Dequantize`: the values themselves, and every kernel that reads blocks.

use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, i32, sym, tensor};
use pumice_types::Scheme;

/// All samples.
pub fn samples() -> Vec<Sample> {
    Scheme::ALL.into_iter().flat_map(of_scheme).collect()
}

/// Rows of the other operand: kernels for one row, a few, many, and one more than a tile.
const ROWS: [u64; 10] = [1, 2, 7, 8, 9, 16, 17, 33, 64, 257];

/// A sample with a param `w` of these extents, dequantized.
fn case(scheme: Scheme, shape: &[u64], what: &str, build: impl FnOnce(&GraphBuilder, Value)) -> Sample {
    stored(scheme, shape, what, |g, w| build(g, g.dequantize(w)))
}

/// A sample with a param `w` of these extents, in blocks.
fn stored(scheme: Scheme, shape: &[u64], what: &str, build: impl FnOnce(&GraphBuilder, Value)) -> Sample {
    Sample::graph(&format!("{scheme} {shape:?} {what}"), |g| {
        build(g, g.param("w", tensor(scheme, shape.iter().copied())));
    })
}

fn of_scheme(scheme: Scheme) -> Vec<Sample> {
    let e = scheme.elements();
    let mut all = vec![
        case(scheme, &[e], "values", |g, w| g.output("y", w)),
        case(scheme, &[3, 5 * e], "values", |g, w| g.output("y", w)),
        case(scheme, &[0, e], "values", |g, w| g.output("y", w)),
        case(scheme, &[2, 3, e], "any scales", |g, w| g.output("y", w)).fill("w", Fill::Special),
        case(scheme, &[3, 5, e], "transposed", |g, w| g.output("y", g.transpose(w, &[2, 0, 1]))),
        case(scheme, &[4, e], "columns that cut blocks", |g, w| g.output("y", g.narrow(w, 1, 5u64, 7u64))),
        case(scheme, &[3, e], "in a sum", |g, w| g.output("y", g.add(w, g.input("x", f32([3, e]))))),
        case(scheme, &[7, 3 * e], "rows by index", |g, w| {
            g.output("y", g.embedding(w, g.input("ids", i32([2, 3]))));
        })
        .fill("ids", Fill::Range(-7, 7)),
        case(scheme, &[7, e], "rows by a bad index", |g, w| {
            g.output("y", g.embedding(w, g.input("ids", i32([3]))));
        })
        .fill("ids", Fill::Ints(vec![6, 7, -8]))
        .expect_status(),
    ];
    all.extend(ROWS.map(|m| product(scheme, m, 3, 68)));
    all.extend(ROWS.map(|m| product(scheme, m, 1, 3)));
    all.extend(ROWS.map(|m| of_some_rows(scheme, m)));
    all.extend(ROWS.map(|m| merged(scheme, m)));
    all.push(product(scheme, 40, 2, 130));
    all.push(
        Sample::graph(&format!("{scheme} product of any rows"), |g| {
            let w = g.dequantize(g.param("w", tensor(scheme, [6, 2 * e])));
            let x = g.input(
                "x",
                crate::shape::tensor(pumice_types::DType::F32, [sym("m", 1..=12), (2 * e).into()]),
            );
            g.output("y", g.linear(x, w, None));
        })
        .bind("m", 5),
    );
    all.push(case(scheme, &[e, 2 * e], "as a left operand", |g, w| {
        g.output("y", g.matmul(w, g.input("x", f32([2 * e, 3]))));
    }));
    all.push(case(scheme, &[3 * e, e], "as a right operand along n", |g, w| {
        g.output("y", g.matmul(g.input("x", f32([5, 3 * e])), w));
    }));
    all.push(stored(scheme, &[6, 4 * e], "values of some blocks", |g, w| {
        g.output("y", g.dequantize(g.narrow(g.narrow(w, 1, e, 2 * e), 0, 1u64, 4u64)));
    }));
    all.push(stored(scheme, &[6, e], "rows backward", |g, w| {
        g.output("y", g.dequantize(g.slice(w, &[-1], &[i64::MIN], &[0], &[-2])));
    }));
    all.push(stored(scheme, &[9, 4 * e], "product of some blocks", |g, w| {
        let blocks = g.dequantize(g.narrow(g.narrow(w, 1, e, 3 * e), 0, 2u64, 5u64));
        g.output("y", g.linear(g.input("x", f32([3, 3 * e])), blocks, None));
    }));
    all.push(case(scheme, &[4, 2 * e], "product of two of a kind", |g, w| {
        let v = g.dequantize(g.param("v", tensor(scheme, [6, 2 * e])));
        g.output("y", g.linear(g.input("x", f32([3, 2 * e])), g.concat(&[w, v], 0), None));
    }));
    all
}

/// x\[m, k\] · wᵀ for w of n rows of so many blocks.
fn product(scheme: Scheme, m: u64, blocks: u64, n: u64) -> Sample {
    let k = blocks * scheme.elements();
    case(scheme, &[n, k], &format!("product of {m} rows"), |g, w| {
        g.output("y", g.linear(g.input("x", f32([m, k])), w, None));
    })
}

/// x\[m, k\] · wᵀ for w of rows 2 to 38 of 40.
fn of_some_rows(scheme: Scheme, m: u64) -> Sample {
    let k = 3 * scheme.elements();
    case(scheme, &[40, k], &format!("product of {m} rows with a slice of rows"), |g, w| {
        g.output("y", g.linear(g.input("x", f32([m, k])), g.narrow(w, 0, 2u64, 37u64), None));
    })
}

/// x\[m, k\] · wᵀ and x · vᵀ, which a pass may make one product of both params.
fn merged(scheme: Scheme, m: u64) -> Sample {
    let k = 2 * scheme.elements();
    case(scheme, &[36, k], &format!("two products of the same {m} rows"), |g, w| {
        let (x, v) = (g.input("x", f32([m, k])), g.param("v", tensor(scheme, [10, k])));
        g.output("y", g.linear(x, w, None));
        g.output("z", g.linear(x, g.dequantize(v), None));
    })
}
