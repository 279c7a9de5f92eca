//! Samples of `ConvTranspose`: every attribute alone and together, 1-D to 3-D, symbols, operands that are views, gaps.

use crate::builder::{GraphBuilder, Value};
use crate::ops::ConvTranspose;
use crate::ops::elementwise::FLOATS;
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

const F: DType = DType::F32;

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (x, w, op) in cases().iter().chain(&tiles()).chain(&cut()) {
        samples.extend([false, true].map(|bias| case(F, x, w, bias, op)));
    }
    for &d in FLOATS {
        let op =
            ConvTranspose { strides: vec![2, 2], pads: vec![1; 4], groups: 2, ..ConvTranspose::default() };
        samples.push(case(d, &[2, 6, 4, 5], &[6, 2, 3, 3], true, &op));
    }
    samples.extend(symbolic());
    samples.extend(views());
    samples.extend(special());
    samples
}

/// A transposed convolution's operands and attributes.
type Case = (Vec<u64>, Vec<u64>, ConvTranspose);

fn cases() -> Vec<Case> {
    let plain = ConvTranspose::default;
    let mut cases = Vec::new();
    let mut add = |x: &[u64], w: &[u64], op: ConvTranspose| cases.push((x.to_vec(), w.to_vec(), op));
    // 1-D: strides of the kernel's length, shorter, and longer, which leaves gaps.
    add(&[2, 3, 8], &[3, 4, 3], plain());
    add(&[2, 3, 5], &[3, 4, 2], ConvTranspose { strides: vec![2], ..plain() });
    add(&[1, 2, 6], &[2, 3, 3], ConvTranspose { strides: vec![2], pads: vec![1, 0], ..plain() });
    add(&[1, 2, 5], &[2, 3, 2], ConvTranspose { strides: vec![5], output_padding: vec![4], ..plain() });
    add(&[1, 2, 5], &[2, 3, 3], ConvTranspose { dilations: vec![4], output_padding: vec![3], ..plain() });
    add(
        &[1, 2, 5],
        &[2, 3, 3],
        ConvTranspose { dilations: vec![2], strides: vec![2], pads: vec![2, 3], ..plain() },
    );
    // 2-D: what decoders of images are made of.
    add(&[1, 8, 7, 6], &[8, 4, 4, 4], ConvTranspose { strides: vec![2, 2], pads: vec![1; 4], ..plain() });
    add(
        &[2, 4, 5, 5],
        &[4, 4, 3, 3],
        ConvTranspose { strides: vec![1, 3], pads: vec![0, 1, 2, 0], ..plain() },
    );
    add(&[1, 6, 5, 4], &[6, 1, 3, 3], ConvTranspose { groups: 6, strides: vec![2, 2], ..plain() });
    add(&[1, 6, 5, 4], &[6, 3, 2, 2], ConvTranspose { groups: 2, strides: vec![2, 2], ..plain() });
    add(&[1, 3, 6, 7], &[3, 5, 1, 1], plain());
    // 3-D.
    let all = ConvTranspose {
        strides: vec![2, 1, 3],
        pads: vec![1, 0, 2, 0, 1, 1],
        dilations: vec![1, 2, 1],
        groups: 2,
        output_padding: vec![1, 0, 2],
        ..plain()
    };
    add(&[1, 4, 3, 4, 3], &[4, 2, 2, 3, 3], all);
    // Empty: batch, channels, a spatial axis, all that is left.
    add(&[0, 3, 4, 4], &[3, 2, 3, 3], plain());
    add(&[2, 0, 4], &[0, 3, 3], plain());
    add(&[1, 2, 0], &[2, 3, 4], ConvTranspose { strides: vec![2], ..plain() });
    add(&[1, 2, 1], &[2, 3, 4], ConvTranspose { pads: vec![3, 1], ..plain() });
    cases
}

/// What GPUs make by tiles, and what drivers that end loops make otherwise.
fn tiles() -> Vec<Case> {
    let plain = ConvTranspose::default;
    let mut cases = Vec::new();
    let mut add = |x: &[u64], w: &[u64], op: ConvTranspose| cases.push((x.to_vec(), w.to_vec(), op));
    // All channels of a step, some, fewer than one has; outputs that fill a tile and that do not; a stride that the
    // dilation shares a factor with.
    add(&[2, 32, 6, 5], &[32, 16, 4, 4], ConvTranspose { strides: vec![2, 2], pads: vec![1; 4], ..plain() });
    add(
        &[2, 19, 5, 6],
        &[19, 9, 3, 3],
        ConvTranspose { strides: vec![4, 3], dilations: vec![2, 1], ..plain() },
    );
    add(&[3, 10, 7], &[10, 35, 5], ConvTranspose { strides: vec![3], groups: 2, ..plain() });
    // Of a size for which a small GPU takes each of the large tiles.
    for (x, w) in [
        ([1, 16, 16, 16], [16, 256, 3, 3]),
        ([1, 2, 20, 32], [2, 192, 3, 3]),
        ([1, 5, 12, 16], [5, 192, 3, 3]),
    ] {
        add(&x, &w, ConvTranspose { pads: vec![1; 4], ..plain() });
    }
    add(
        &[1, 16, 8, 16],
        &[16, 256, 3, 4],
        ConvTranspose { strides: vec![1, 2], pads: vec![1; 4], ..plain() },
    );
    // Long sums of few outputs.
    add(&[1, 44, 7, 4, 5], &[44, 5, 3, 2, 1], plain());
    add(&[2, 66, 9], &[66, 1, 7], ConvTranspose { strides: vec![3], groups: 2, ..plain() });
    // More terms than some drivers let a loop iterate.
    add(&[1, 12_700, 1], &[12_700, 1, 5], ConvTranspose { pads: vec![2, 2], ..plain() });
    cases
}

/// With the extents of the result given: an even and an odd number of elements too many, none, all.
fn cut() -> Vec<Case> {
    let of = |output_shape: &[u64], cut_end: bool| ConvTranspose {
        strides: vec![2, 3],
        output_shape: output_shape.to_vec(),
        cut_end,
        ..ConvTranspose::default()
    };
    let shapes: [&[u64]; 5] = [&[9, 12], &[8, 11], &[6, 9], &[7, 10], &[0, 1]];
    let ops = shapes.iter().flat_map(|shape| [of(shape, false), of(shape, true)]);
    ops.map(|op| (vec![1, 2, 4, 4], vec![2, 3, 3, 3], op)).collect()
}

fn case(d: DType, x: &[u64], w: &[u64], bias: bool, op: &ConvTranspose) -> Sample {
    let label = format!("{d} {x:?} by {w:?}{} {op:?}", if bias { " with bias" } else { "" });
    Sample::graph(&label, |g| {
        let v = g.input("x", tensor(d, x.iter().copied()));
        let weights = g.param("w", tensor(d, w.iter().copied()));
        let bias = bias.then(|| g.param("bias", tensor(d, [w[1] * op.groups])));
        g.output("y", g.conv_transpose(v, weights, bias, op.clone()));
    })
}

/// Batch and spatial extents that are symbols; pads that are too large for the smallest, extents that are too large for
/// it.
fn symbolic() -> Vec<Sample> {
    let of = |b: u64, h: u64, w: u64, op: ConvTranspose| {
        Sample::graph(&format!("symbols {b} x {h} x {w} {op:?}"), |g| {
            let x = g.input("x", tensor(F, [sym("b", 0..=3), 4.into(), sym("h", 1..=9), sym("w", 2..=8)]));
            let weights = g.param("w", tensor(F, [4, 3, 3, 2u64]));
            let bias = g.param("bias", tensor(F, [3u64]));
            g.output("y", g.conv_transpose(x, weights, Some(bias), op.clone()));
        })
        .bind("b", b)
        .bind("h", h)
        .bind("w", w)
    };
    let plain = ConvTranspose { strides: vec![2, 3], ..ConvTranspose::default() };
    let padded = ConvTranspose { pads: vec![2, 1, 2, 0], ..plain.clone() };
    let given = ConvTranspose { output_shape: vec![7, 8], ..plain.clone() };
    let mut samples = Vec::new();
    for (b, h, w) in [(3, 9, 8), (2, 5, 4), (1, 3, 3), (0, 4, 5)] {
        samples.extend([plain.clone(), padded.clone(), given.clone()].map(|op| of(b, h, w, op)));
    }
    samples
}

/// Operands that are permuted or stretched, and one between other ops.
fn views() -> Vec<Sample> {
    let strided = || ConvTranspose { strides: vec![2, 2], ..ConvTranspose::default() };
    let of = |label: &str, shape: &[u64], view: &dyn Fn(&GraphBuilder, Value) -> Value| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(F, shape.iter().copied()));
            let weights = g.param("w", tensor(F, [4u64, 5, 3, 3]));
            g.output("y", g.conv_transpose(view(g, x), weights, None, strided()));
        })
    };
    vec![
        of("channels last", &[2, 5, 3, 4], &|g, x| g.transpose(x, &[0, 3, 1, 2])),
        of("stretched batch and channels", &[1, 1, 4, 3], &|g, x| g.expand(x, &[3, 4, 4, 3])),
        of("a sum", &[1, 4, 3, 3], &|g, x| g.add(x, x)),
    ]
}

/// NaN and infinities of operands and weights: in gaps there is no tap, outside there are some.
fn special() -> Vec<Sample> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let of = |label: &str, operand: Vec<f64>, w: Vec<f64>, stride: u64| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(F, [1u64, 1, 4]));
            let (w, bias) = (g.param("w", tensor(F, [1u64, 1, 3])), g.param("bias", tensor(F, [1u64])));
            let op = ConvTranspose { strides: vec![stride], ..ConvTranspose::default() };
            g.output("y", g.conv_transpose(x, w, Some(bias), op));
        })
        .fill("x", Fill::Floats(operand))
        .fill("w", Fill::Floats(w))
    };
    vec![
        of("an infinite weight outside", vec![1.0, 2.0], vec![1.0, inf, 2.0], 1),
        of("an infinite weight beside gaps", vec![1.0, 2.0], vec![1.0, inf, 2.0], 5),
        of("a NaN weight", vec![1.0, 2.0], vec![nan, 1.0, 2.0], 2),
        of("an infinite element", vec![1.0, inf, 2.0], vec![1.0, 0.5, 2.0], 2),
    ]
}
