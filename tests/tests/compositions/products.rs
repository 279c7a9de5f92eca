//! Products made of matrix products.

use super::{FLOATS, all_near, all_pass};
use pumice_ir::ops::dot_general::DotGeneral;
use pumice_ir::ops::gemm::Gemm;
use pumice_ir::ops::lora_matmul::LoraMatMul;
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

const F: DType = DType::F32;

/// What sums of 65 terms of about 1, and of products of such sums, may be off where they are small themselves.
const NEAR: f64 = 2e-5;

fn extents(first: u64, second: u64, swapped: bool) -> [u64; 2] {
    if swapped { [second, first] } else { [first, second] }
}

pub fn scaled_products(runner: &Runner) {
    let case = |d: DType, [m, n, k]: [u64; 3], c: Option<&[u64]>, op: Gemm| {
        Sample::graph(&format!("{d} {m} x {n} of {k}, c {c:?}, {op:?}"), |g| {
            let a = g.input("a", tensor(d, extents(m, k, op.trans_a)));
            let b = g.input("b", tensor(d, extents(k, n, op.trans_b)));
            let c = c.map(|shape| g.input("c", tensor(d, shape.iter().copied())));
            g.output("y", g.gemm(a, b, c, op));
        })
        .fill("a", Fill::Normal)
        .fill("b", Fill::Normal)
    };
    let plain = Gemm::default();
    let shapes: [Option<&[u64]>; 7] =
        [None, Some(&[]), Some(&[7]), Some(&[5, 1]), Some(&[1, 7]), Some(&[5, 7]), Some(&[1])];
    let mut samples: Vec<Sample> = shapes.into_iter().map(|c| case(F, [5, 7, 9], c, plain)).collect();
    for (trans_a, trans_b) in [(true, false), (false, true), (true, true)] {
        let op = Gemm { alpha: 0.5, beta: -2.0, trans_a, trans_b };
        samples.extend([case(F, [5, 7, 9], Some(&[7]), op), case(F, [33, 17, 65], None, op)]);
    }
    samples.extend(FLOATS.map(|d| case(d, [5, 7, 9], Some(&[7]), Gemm { alpha: 3.0, beta: 0.25, ..plain })));
    samples.extend([
        case(F, [5, 7, 0], Some(&[7]), Gemm { alpha: 2.0, ..plain }),
        case(F, [0, 7, 3], Some(&[7]), plain),
        case(F, [1, 1, 1], Some(&[]), Gemm { alpha: 0.0, ..plain }),
        // What is not read may be anything.
        case(F, [5, 7, 9], Some(&[7]), Gemm { beta: 0.0, ..plain }).fill("c", Fill::Constant(f64::NAN)),
    ]);
    samples.extend([1, 9].map(|m| {
        let sample = Sample::graph(&format!("symbolic, {m} rows of 9"), |g| {
            let a = g.input("a", tensor(F, [sym("m", 1..=9), 6.into()]));
            let (b, c) = (g.param("b", tensor(F, [4u64, 6])), g.param("c", tensor(F, [4u64])));
            g.output("y", g.gemm(a, b, Some(c), Gemm { trans_b: true, alpha: 0.5, ..Gemm::default() }));
        });
        sample.bind("m", m)
    }));
    all_near(runner, "gemm", NEAR, samples);
}

pub fn products_over_axes(runner: &Runner) {
    let case = |d: DType, lhs: &[u64], rhs: &[u64], batch: [&[i64]; 2], contracting: [&[i64]; 2]| {
        let op = DotGeneral {
            lhs_batch: batch[0].to_vec(),
            rhs_batch: batch[1].to_vec(),
            lhs_contracting: contracting[0].to_vec(),
            rhs_contracting: contracting[1].to_vec(),
        };
        Sample::graph(&format!("{d} {lhs:?} by {rhs:?} {op:?}"), |g| {
            let a = g.input("a", tensor(d, lhs.iter().copied()));
            let b = g.input("b", tensor(d, rhs.iter().copied()));
            g.output("y", g.dot_general(a, b, op));
        })
        .fill("a", Fill::Normal)
        .fill("b", Fill::Normal)
    };
    let none: [&[i64]; 2] = [&[], &[]];
    let mut samples: Vec<Sample> =
        FLOATS.iter().map(|&d| case(d, &[3, 4], &[4, 5], none, [&[1], &[0]])).collect();
    samples.extend([
        case(F, &[3, 4], &[5, 4], none, [&[-1], &[-1]]),
        case(F, &[4, 3], &[4, 5], none, [&[0], &[0]]),
        case(F, &[2, 3, 4], &[2, 4, 5], [&[0], &[0]], [&[2], &[1]]),
        case(F, &[3, 2, 4], &[4, 5, 2], [&[1], &[2]], [&[2], &[0]]),
        case(F, &[2, 3, 4, 5], &[5, 6, 3], none, [&[3, 1], &[0, 2]]),
        case(F, &[2, 3, 4, 5], &[4, 5, 2, 3], [&[0, 1], &[2, 3]], [&[2, 3], &[0, 1]]),
        case(F, &[2, 3, 4, 5], &[3, 7, 2], [&[1, 0], &[0, 2]], none),
        case(F, &[3], &[4], none, none),
        case(F, &[3], &[3], none, [&[0], &[0]]),
        case(F, &[], &[4], none, none),
        case(F, &[3, 0], &[0, 4], none, [&[1], &[0]]),
        case(F, &[0, 4], &[4, 2], none, [&[1], &[0]]),
        case(F, &[33, 3, 5], &[65, 5, 3], none, [&[1, 2], &[2, 1]]),
        case(F, &[2, 2, 2, 3, 4], &[2, 2, 2, 4, 5], [&[0, 1, 2], &[2, 1, 0]], [&[4], &[3]]),
    ]);
    samples.extend([1, 6].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 6"), |g| {
            let (n, m) = (sym("n", 1..=6), sym("m", 0..=3));
            let a = g.input("a", tensor(F, [n.clone(), m, 4.into(), 3.into()]));
            let b = g.input("b", tensor(F, [3.into(), n, 4.into(), 5.into()]));
            let (lhs_contracting, rhs_contracting) = (vec![2, 3], vec![2, 0]);
            let op = DotGeneral { lhs_batch: vec![0], rhs_batch: vec![1], lhs_contracting, rhs_contracting };
            g.output("y", g.dot_general(a, b, op));
        });
        sample.bind("n", n).bind("m", n / 2)
    }));
    all_pass(runner, "dot_general", samples);
}

pub fn adapters(runner: &Runner) {
    let layer = |g: &GraphBuilder, d: DType, x: &[u64], [n, r]: [u64; 2], alpha: f32| {
        let k = x[x.len() - 1];
        let x = g.input("x", tensor(d, x.iter().copied()));
        let w = g.param("w", tensor(d, [n, k]));
        let (a, b) = (g.param("a", tensor(d, [r, k])), g.param("b", tensor(d, [n, r])));
        g.output("y", g.lora_matmul(x, w, a, b, LoraMatMul { alpha }));
    };
    let case = |d: DType, x: &[u64], [n, r]: [u64; 2], alpha: f32| {
        let label = format!("{d} {x:?} to {n}, rank {r}, alpha {alpha}");
        Sample::graph(&label, |g| layer(g, d, x, [n, r], alpha))
    };
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, &[3, 40], [24, 4], 8.0)).collect();
    samples.extend([
        case(F, &[40], [24, 4], 1.0),
        case(F, &[2, 3, 40], [24, 1], 0.5),
        case(F, &[2, 40], [24, 0], 2.0),
        case(F, &[0, 40], [24, 3], 2.0),
        case(F, &[2, 0], [24, 3], 2.0),
        case(F, &[33, 64], [65, 16], -16.0),
    ]);
    let several = Sample::graph("two adapters of one layer", |g| {
        let x = g.input("x", tensor(F, [3u64, 40]));
        let w = g.param("w", tensor(F, [24u64, 40]));
        for (name, r) in [("first", 2u64), ("second", 5)] {
            let a = g.param(&format!("{name}.a"), tensor(F, [r, 40]));
            let b = g.param(&format!("{name}.b"), tensor(F, [24, r]));
            g.output(name, g.lora_matmul(x, w, a, b, LoraMatMul { alpha: 4.0 }));
        }
    });
    samples.push(several);
    all_near(runner, "lora_matmul", NEAR, samples);
}
