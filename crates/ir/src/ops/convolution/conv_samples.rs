//! Samples of `Conv`: every attribute alone and together, 1-D to 3-D, symbols, operands that are views, odd weights.

use crate::builder::{GraphBuilder, Value};
use crate::ops::Conv;
use crate::ops::elementwise::FLOATS;
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

const F: DType = DType::F32;

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (x, w, op) in cases().into_iter().chain(narrow()) {
        samples.extend([false, true].map(|bias| case(F, &x, &w, bias, &op)));
    }
    for &d in FLOATS {
        samples.push(case(
            d,
            &[2, 6, 9, 7],
            &[4, 3, 3, 3],
            true,
            &Conv { groups: 2, pads: vec![1; 4], ..Conv::default() },
        ));
        samples.push(case(d, &[2, 5, 4, 3], &[7, 5, 1, 1], true, &Conv::default()));
    }
    samples.extend(symbolic());
    samples.extend(views());
    samples.extend(special());
    samples
}

/// A convolution's operands and attributes.
type Case = (Vec<u64>, Vec<u64>, Conv);

/// Groups of few channels: lines that are read by quads and one by one, long ones, sums of more than one chain, taps
/// that are no neighbours.
fn narrow() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |x: &[u64], w: &[u64], pads: &[u64], strides: &[u64]| {
        let (pads, strides, groups) = (pads.to_vec(), strides.to_vec(), x[1] / w[1]);
        cases.push((x.to_vec(), w.to_vec(), Conv { pads, strides, groups, ..Conv::default() }));
    };
    add(&[2, 5, 9, 12], &[5, 1, 3, 3], &[1; 4], &[]);
    add(&[1, 3, 16, 16], &[3, 1, 7, 7], &[3; 4], &[]);
    add(&[1, 4, 13, 24], &[4, 1, 5, 3], &[2, 1, 2, 1], &[2, 2]);
    add(&[1, 6, 40], &[6, 1, 31], &[15, 15], &[]);
    add(&[2, 4, 36], &[8, 1, 28], &[9, 3], &[3]);
    add(&[1, 4, 6, 16, 16], &[20, 2, 3, 5, 11], &[1, 2, 5, 1, 2, 5], &[]);
    add(&[1, 8, 5, 9], &[12, 4, 3, 2], &[0, 2, 0, 1], &[1, 4]);
    // Few results of many taps, and more terms than a chain of each of 256 threads has.
    add(&[1, 2, 19, 18], &[2, 1, 17, 16], &[1; 4], &[2, 1]);
    add(&[2, 280, 16, 17], &[2, 140, 16, 16], &[1, 0, 0, 1], &[]);
    // More terms than some drivers let a loop iterate.
    add(&[1, 25_400, 1], &[2, 12_700, 5], &[2, 2], &[]);
    let dilations = vec![1, 2];
    cases.push((
        vec![1, 4, 7, 8],
        vec![12, 2, 3, 3],
        Conv { groups: 2, dilations: dilations.clone(), ..Conv::default() },
    ));
    cases.push((
        vec![1, 6, 24, 40],
        vec![6, 2, 15, 18],
        Conv { groups: 3, dilations: dilations.clone(), ..Conv::default() },
    ));
    cases.push((vec![1, 4, 7, 8], vec![8, 1, 3, 3], Conv { groups: 4, dilations, ..Conv::default() }));
    cases
}

fn cases() -> Vec<Case> {
    let plain = Conv::default;
    let mut cases = Vec::new();
    let mut add = |x: &[u64], w: &[u64], op: Conv| cases.push((x.to_vec(), w.to_vec(), op));
    // 1-D: kernels as long as the operand, strides beyond the kernel, pads on one side.
    add(&[2, 3, 8], &[4, 3, 3], plain());
    add(&[1, 1, 5], &[1, 1, 5], plain());
    add(&[1, 2, 17], &[3, 2, 2], Conv { strides: vec![5], ..plain() });
    add(&[3, 2, 9], &[2, 2, 4], Conv { pads: vec![3, 0], ..plain() });
    add(&[3, 2, 9], &[2, 2, 4], Conv { pads: vec![0, 3], strides: vec![2], ..plain() });
    add(&[1, 2, 12], &[2, 2, 3], Conv { dilations: vec![5], pads: vec![1, 2], ..plain() });
    add(&[1, 2, 2], &[2, 2, 3], Conv { pads: vec![7, 6], strides: vec![3], ..plain() });
    // 2-D: what vision models are made of.
    add(&[1, 3, 32, 30], &[16, 3, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    add(&[2, 3, 33, 31], &[8, 3, 7, 7], Conv { pads: vec![3; 4], strides: vec![2, 2], ..plain() });
    add(&[1, 8, 9, 11], &[16, 8, 3, 3], Conv { strides: vec![2, 1], pads: vec![0, 1, 2, 3], ..plain() });
    add(&[1, 4, 13, 12], &[4, 4, 3, 2], Conv { dilations: vec![2, 3], pads: vec![2, 1, 1, 0], ..plain() });
    add(&[1, 3, 16, 16], &[12, 3, 4, 4], Conv { strides: vec![4, 4], ..plain() });
    add(&[1, 6, 8, 8], &[9, 2, 3, 3], Conv { groups: 3, pads: vec![1; 4], ..plain() });
    add(&[2, 6, 8, 7], &[6, 1, 3, 3], Conv { groups: 6, pads: vec![1; 4], ..plain() });
    add(&[1, 4, 7, 7], &[12, 1, 5, 5], Conv { groups: 4, strides: vec![2, 3], pads: vec![2; 4], ..plain() });
    add(&[1, 130, 5, 5], &[67, 130, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    // Of a size for which a small GPU takes each of the large tiles, with channels that fill steps and some that do
    // not.
    add(&[1, 16, 16, 16], &[256, 16, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    add(&[1, 2, 20, 32], &[192, 2, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    add(&[1, 5, 12, 16], &[192, 5, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    add(&[1, 64, 19, 27], &[31, 64, 3, 3], Conv { pads: vec![1; 4], ..plain() });
    // Long sums of few outputs in a group.
    add(&[2, 70, 7, 9], &[6, 35, 3, 3], Conv { groups: 2, strides: vec![3, 3], pads: vec![1; 4], ..plain() });
    // One tap: a product, unless strides, pads or groups say otherwise.
    add(&[2, 37, 5, 9], &[19, 37, 1, 1], plain());
    add(&[3, 16, 33], &[16, 16, 1], plain());
    add(&[1, 4, 6, 6], &[8, 4, 1, 1], Conv { strides: vec![2, 2], ..plain() });
    // One position along an axis of two elements, of which a step passes one.
    add(&[1, 4, 5, 2], &[8, 4, 1, 1], Conv { strides: vec![1, 2], ..plain() });
    add(&[2, 4, 5, 2], &[8, 4, 1, 1], Conv { strides: vec![1, 2], ..plain() });
    add(&[1, 4, 6, 6], &[8, 4, 1, 1], Conv { pads: vec![1, 0, 0, 1], ..plain() });
    add(&[1, 4, 6, 6], &[8, 2, 1, 1], Conv { groups: 2, dilations: vec![3, 3], ..plain() });
    // 3-D.
    add(&[1, 2, 5, 6, 7], &[3, 2, 3, 3, 3], Conv { pads: vec![1; 6], ..plain() });
    let all = Conv {
        strides: vec![2, 1, 3],
        pads: vec![2, 0, 1, 1, 3, 0],
        dilations: vec![1, 2, 2],
        groups: 2,
        ..Conv::default()
    };
    add(&[2, 4, 6, 7, 8], &[6, 2, 3, 2, 3], all);
    // Empty: batch, channels of the operand, channels of the result, a spatial axis that is all padding.
    add(&[0, 3, 8, 8], &[4, 3, 3, 3], plain());
    add(&[2, 0, 4, 4], &[3, 0, 3, 3], plain());
    add(&[2, 3, 4, 4], &[0, 3, 3, 3], plain());
    add(&[1, 2, 0, 4], &[3, 2, 2, 2], Conv { pads: vec![1, 0, 1, 0], ..plain() });
    // More than 65,535 results along an axis, and many batches.
    add(&[1, 1, 70_000], &[1, 1, 3], Conv { pads: vec![1, 1], ..plain() });
    add(&[1_000, 1, 3, 3], &[2, 1, 2, 2], plain());
    cases
}

fn case(d: DType, x: &[u64], w: &[u64], bias: bool, op: &Conv) -> Sample {
    let label = format!("{d} {x:?} by {w:?}{} {op:?}", if bias { " with bias" } else { "" });
    Sample::graph(&label, |g| {
        let v = g.input("x", tensor(d, x.iter().copied()));
        let (weights, bias) = weights(g, d, w, bias);
        g.output("y", g.conv(v, weights, bias, op.clone()));
    })
}

fn weights(g: &GraphBuilder, d: DType, w: &[u64], bias: bool) -> (Value, Option<Value>) {
    let weights = g.param("w", tensor(d, w.iter().copied()));
    (weights, bias.then(|| g.param("bias", tensor(d, [w[0]]))))
}

/// Batch and spatial extents that are symbols, also below what the kernel needs at most.
fn symbolic() -> Vec<Sample> {
    let of = |b: u64, h: u64, w: u64, op: Conv| {
        Sample::graph(&format!("symbols {b} x {h} x {w} {op:?}"), |g| {
            let x = g.input("x", tensor(F, [sym("b", 0..=4), 4.into(), sym("h", 1..=20), sym("w", 3..=24)]));
            let (w, bias) = weights(g, F, &[6, 4 / op.groups, 3, 3], true);
            g.output("y", g.conv(x, w, bias, op.clone()));
        })
        .bind("b", b)
        .bind("h", h)
        .bind("w", w)
    };
    let padded = Conv { pads: vec![1; 4], ..Conv::default() };
    let strided = Conv { strides: vec![2, 3], groups: 2, ..padded.clone() };
    let bare = Conv { dilations: vec![2, 1], ..Conv::default() };
    let mut samples = Vec::new();
    for (b, h, w) in [(4, 20, 24), (1, 1, 3), (3, 7, 12), (0, 5, 5)] {
        samples.extend([padded.clone(), strided.clone()].map(|op| of(b, h, w, op)));
        samples.push(of(b, h.max(5), w, bare.clone()));
    }
    samples.push(
        Sample::graph("one tap over symbols", |g| {
            let x = g.input("x", tensor(F, [sym("b", 0..=4), 8.into(), sym("n", 1..=40), 5.into()]));
            let (w, bias) = weights(g, F, &[12, 8, 1, 1], true);
            g.output("y", g.conv(x, w, bias, Conv::default()));
        })
        .bind("b", 3)
        .bind("n", 13),
    );
    samples
}

/// Operands that are permuted, cut or stretched.
fn views() -> Vec<Sample> {
    let padded = || Conv { pads: vec![1; 4], ..Conv::default() };
    let of = |label: &str, shape: &[u64], view: &dyn Fn(&GraphBuilder, Value) -> Value| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(F, shape.iter().copied()));
            let (w, bias) = weights(g, F, &[5, 4, 3, 3], true);
            g.output("y", g.conv(view(g, x), w, bias, padded()));
        })
    };
    vec![
        of("channels last", &[2, 9, 7, 4], &|g, x| g.transpose(x, &[0, 3, 1, 2])),
        of("stretched batch and channels", &[1, 1, 6, 6], &|g, x| g.expand(x, &[3, 4, 6, 6])),
        of("every second row", &[2, 4, 12, 6], &|g, x| g.slice(x, &[0], &[12], &[2], &[2])),
        of("a sum", &[2, 4, 5, 6], &|g, x| g.add(x, x)),
        Sample::graph("weights of a transpose", |g| {
            let x = g.input("x", tensor(F, [2u64, 4, 6, 6]));
            let w = g.param("w", tensor(F, [3u64, 3, 4, 5]));
            g.output("y", g.conv(x, g.transpose(w, &[3, 2, 0, 1]), None, padded()));
        }),
        Sample::graph("weights that are inputs", |g| {
            let x = g.input("x", tensor(F, [1u64, 3, 8, 8]));
            g.output("y", g.conv(x, g.input("w", tensor(F, [4u64, 3, 3, 3])), None, padded()));
        }),
    ]
}

/// NaN and infinities of operands and weights: those of weights meet the zeros outside, too.
fn special() -> Vec<Sample> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let of = |label: &str, operand: Vec<f64>, w: Vec<f64>, op: Conv| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(F, [1u64, 1, 5, 5]));
            let (w, _) = weights(g, F, &[1, 1, 3, 3], false);
            g.output("y", g.conv(x, w, None, op));
        })
        .fill("x", Fill::Floats(operand))
        .fill("w", Fill::Floats(w))
    };
    let padded = || Conv { pads: vec![1, 1, 0, 2], ..Conv::default() };
    let weight = |value: f64| vec![1.0, 2.0, -1.0, 0.5, 0.0, 3.0, 1.0, 1.0, value];
    vec![
        of("an infinite weight outside", vec![1.0, 2.0, 3.0], weight(inf), padded()),
        of("a NaN weight outside", vec![1.0, -2.0], weight(nan), padded()),
        of("an infinite element", vec![1.0, 2.0, 0.5, inf, 1.0, 0.0, 1.0], weight(1.0), padded()),
        of("a NaN element", vec![1.0, 2.0, 0.5, 1.0, 1.0, 1.0, nan, 1.0, 1.0], weight(1.0), padded()),
        of("equal terms", vec![1.0 / 3.0], vec![1.0 / 3.0], Conv::default()),
    ]
}
