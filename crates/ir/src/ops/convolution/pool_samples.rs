//! Samples of pools: every attribute alone and together, 1-D to 3-D, every dtype, symbols, operands that are views.

use super::pool::Pool;
use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

type Apply<'a> = &'a dyn Fn(&GraphBuilder, Value, Pool) -> Value;

/// Samples of a pool of these dtypes, the first one most.
pub(crate) fn pool_samples(
    dtypes: &[DType],
    fill: &Fill,
    apply: impl Fn(&GraphBuilder, Value, Pool) -> Value,
) -> Vec<Sample> {
    let f = dtypes[0];
    let mut samples: Vec<Sample> = cases().iter().map(|(x, pool)| case(f, x, pool, fill, &apply)).collect();
    let small = Pool { kernel: vec![3, 2], strides: vec![2, 1], pads: vec![1; 4], ..Pool::default() };
    samples.extend(dtypes.iter().map(|&d| case(d, &[2, 3, 7, 5], &small, fill, &apply)));
    samples.extend(symbolic(f, fill, &apply));
    samples.extend(views(f, fill, &apply));
    samples
}

/// Every case of 1,000 elements at most, in f32, after these words.
pub(crate) fn small_cases(
    words: &str,
    fill: &Fill,
    apply: impl Fn(&GraphBuilder, Value, Pool) -> Value,
) -> Vec<Sample> {
    let small = |(x, _): &(Vec<u64>, Pool)| x.iter().product::<u64>() <= 1_000;
    let named = |mut sample: Sample| {
        sample.label = format!("{words}, {}", sample.label);
        sample
    };
    let cases = cases().into_iter().filter(small);
    cases.map(|(x, pool)| named(case(DType::F32, &x, &pool, fill, &apply))).collect()
}

fn case(d: DType, x: &[u64], pool: &Pool, fill: &Fill, apply: Apply<'_>) -> Sample {
    Sample::graph(&format!("{d} {x:?} {pool:?}"), |g| {
        let v = g.input("x", tensor(d, x.iter().copied()));
        g.output("y", apply(g, v, pool.clone()));
    })
    .fill("x", fill.clone())
}

fn cases() -> Vec<(Vec<u64>, Pool)> {
    let of = |kernel: &[u64]| Pool { kernel: kernel.to_vec(), ..Pool::default() };
    let mut cases = Vec::new();
    let mut add = |x: &[u64], pool: Pool| cases.push((x.to_vec(), pool));
    // 1-D: the whole axis, strides beyond the kernel, pads on one side.
    add(&[2, 3, 9], of(&[1]));
    add(&[2, 3, 9], of(&[9]));
    add(&[1, 2, 17], Pool { strides: vec![5], ..of(&[2]) });
    add(&[2, 2, 10], Pool { pads: vec![2, 0], ..of(&[3]) });
    add(&[2, 2, 10], Pool { dilations: vec![3], pads: vec![4, 1], strides: vec![2], ..of(&[3]) });
    // More taps than anybody can walk, almost all of them in pads.
    add(&[1, 2, 3, 2], Pool { pads: vec![1 << 19; 4], ..of(&[1 << 20, 1 << 20]) });
    // Numbers beyond those that kernels count to.
    let far = 1u64 << 30;
    add(
        &[2, 2, 7],
        Pool { strides: vec![2], dilations: vec![far], pads: vec![far - 2, 3], ceil_mode: true, ..of(&[2]) },
    );
    add(&[1, 2, 6], Pool { dilations: vec![far], pads: vec![far - 3, 0], ..of(&[2]) });
    // Ceil mode: a last window that ends outside, and one that would begin in the end pad.
    for n in 6..11 {
        add(&[1, 2, n], Pool { strides: vec![3], ceil_mode: true, ..of(&[2]) });
        add(&[1, 2, n], Pool { strides: vec![3], pads: vec![1, 2], ceil_mode: true, ..of(&[3]) });
        add(
            &[1, 2, n],
            Pool { strides: vec![4], dilations: vec![2], pads: vec![0, 2], ceil_mode: true, ..of(&[2]) },
        );
    }
    // 2-D: what vision models are made of.
    add(&[2, 4, 13, 12], Pool { strides: vec![2, 2], pads: vec![1; 4], ..of(&[3, 3]) });
    add(&[1, 8, 16, 14], Pool { strides: vec![2, 2], ..of(&[2, 2]) });
    add(
        &[1, 3, 9, 11],
        Pool { strides: vec![2, 3], pads: vec![0, 1, 2, 0], dilations: vec![1, 2], ..of(&[3, 2]) },
    );
    add(&[1, 3, 8, 9], Pool { strides: vec![3, 2], pads: vec![1; 4], ceil_mode: true, ..of(&[3, 3]) });
    add(&[1, 67, 7, 7], of(&[7, 7]));
    // 3-D.
    add(&[1, 2, 5, 6, 7], Pool { strides: vec![2, 1, 2], pads: vec![1, 0, 1, 0, 1, 1], ..of(&[3, 2, 2]) });
    add(&[2, 1, 4, 4, 4], Pool { strides: vec![2, 2, 2], ceil_mode: true, ..of(&[3, 3, 3]) });
    // Taps that all lie outside: around one element, and where there is none.
    add(&[1, 2, 1], Pool { dilations: vec![2], pads: vec![1, 1], ..of(&[2]) });
    add(&[1, 2, 0, 4], Pool { pads: vec![1, 0, 1, 0], ..of(&[2, 2]) });
    // Empty, long, many.
    add(&[0, 3, 8, 8], of(&[2, 2]));
    add(&[2, 0, 8, 8], of(&[2, 2]));
    add(&[1, 1, 70_000], of(&[2]));
    add(&[70_000, 1, 3], of(&[2]));
    cases
}

/// Batch and spatial extents that are symbols, also below what the kernel needs at most.
fn symbolic(f: DType, fill: &Fill, apply: Apply<'_>) -> Vec<Sample> {
    let padded = Pool { kernel: vec![3, 3], strides: vec![2, 2], pads: vec![1; 4], ..Pool::default() };
    let bare = Pool { kernel: vec![2, 3], dilations: vec![2, 1], ..Pool::default() };
    let of = |pool: &Pool, b: u64, h: u64, w: u64| {
        Sample::graph(&format!("symbols {b} x {h} x {w} {pool:?}"), |g| {
            let x = g.input("x", tensor(f, [sym("b", 0..=3), 2.into(), sym("h", 1..=15), sym("w", 3..=16)]));
            g.output("y", apply(g, x, pool.clone()));
        })
        .fill("x", fill.clone())
        .bind("b", b)
        .bind("h", h)
        .bind("w", w)
    };
    let mut samples = Vec::new();
    for (b, h, w) in [(3, 15, 16), (1, 1, 3), (2, 8, 9), (0, 4, 4)] {
        samples.push(of(&padded, b, h, w));
        samples.push(of(&Pool { ceil_mode: true, ..padded.clone() }, b, h, w));
        samples.push(of(&bare, b, h.max(3), w));
    }
    samples
}

/// Operands that are permuted, cut or stretched.
fn views(f: DType, fill: &Fill, apply: Apply<'_>) -> Vec<Sample> {
    let pool = || Pool { kernel: vec![2, 2], strides: vec![2, 1], ..Pool::default() };
    let of = |label: &str, shape: &[u64], view: &dyn Fn(&GraphBuilder, Value) -> Value| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(f, shape.iter().copied()));
            g.output("y", apply(g, view(g, x), pool()));
        })
        .fill("x", fill.clone())
    };
    vec![
        of("channels last", &[2, 6, 7, 3], &|g, x| g.transpose(x, &[0, 3, 1, 2])),
        of("stretched", &[1, 3, 1, 6], &|g, x| g.expand(x, &[2, 3, 5, 6])),
        of("every second row", &[2, 3, 12, 6], &|g, x| g.slice(x, &[0], &[12], &[2], &[2])),
    ]
}
