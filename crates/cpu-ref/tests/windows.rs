//! Convolutions, pools and batch norm against values known without the evaluator: made by hand, or by another way of
//! counting.

use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::ops::{AveragePool, Conv, ConvTranspose, MaxPool, MinPool, SumPool};
use pumice_ir::{ConstEval, GraphBuilder, Value};
use pumice_types::Tensor;

/// A constant of 1, 2, 3, … less one.
fn range(g: &GraphBuilder, shape: &[u64]) -> Value {
    let n: u64 = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    g.constant(Tensor::new(&values, shape).expect("lengths agree"))
}

fn ones(g: &GraphBuilder, shape: &[u64]) -> Value {
    filled(g, shape, 1.0)
}

fn filled(g: &GraphBuilder, shape: &[u64], value: f32) -> Value {
    let n: u64 = shape.iter().product();
    g.constant(Tensor::new(&vec![value; n as usize], shape).expect("lengths agree"))
}

fn run(build: impl FnOnce(&GraphBuilder) -> Value) -> (Vec<u64>, Vec<f64>) {
    let g = GraphBuilder::new("known");
    let y = build(&g);
    g.output("y", y);
    let graph = g.build().expect("the graph is right");
    let y = Array::from_tensor(&RefEval.eval(&graph).expect("it has a value")[0]);
    (y.shape.clone(), y.to_f64())
}

#[track_caller]
fn gives(build: impl FnOnce(&GraphBuilder) -> Value, shape: &[u64], want: &[f64]) {
    let (got_shape, got) = run(build);
    assert_eq!(got_shape, shape);
    assert!(got.iter().zip(want).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{got:?}");
    assert_eq!(got.len(), want.len());
}

#[test]
fn sums_of_neighbours() {
    let padded = Conv { pads: vec![1; 4], ..Conv::default() };
    let want = [
        12., 21., 27., 33., 24., 33., 54., 63., 72., 51., 63., 99., 108., 117., 81., 93., 144., 153., 162.,
        111., 72., 111., 117., 123., 84.,
    ];
    gives(|g| g.conv(range(g, &[1, 1, 5, 5]), ones(g, &[1, 1, 3, 3]), None, padded), &[1, 1, 5, 5], &want);
    let want = [54., 63., 72., 99., 108., 117., 144., 153., 162.];
    gives(
        |g| g.conv(range(g, &[1, 1, 5, 5]), ones(g, &[1, 1, 3, 3]), None, Conv::default()),
        &[1, 1, 3, 3],
        &want,
    );
    let strided = Conv { strides: vec![2, 2], pads: vec![1, 0, 1, 0], ..Conv::default() };
    let want = [12., 27., 24., 63., 108., 81., 123., 198., 141., 112., 177., 124.];
    gives(
        |g| {
            g.conv(
                range(g, &[1, 1, 7, 5]),
                ones(g, &[1, 1, 3, 3]),
                None,
                Conv { pads: vec![1; 4], ..strided.clone() },
            )
        },
        &[1, 1, 4, 3],
        &want,
    );
    let want = [21., 33., 99., 117., 189., 207., 171., 183.];
    gives(|g| g.conv(range(g, &[1, 1, 7, 5]), ones(g, &[1, 1, 3, 3]), None, strided), &[1, 1, 4, 2], &want);
}

/// Weights are not turned round, dilation spreads them, groups keep apart, the bias is each channel's.
#[test]
fn weights_groups_and_bias() {
    let dilated = Conv { dilations: vec![2], ..Conv::default() };
    // Σ x[p + 2t]·t over t = 0, 1, 2.
    gives(|g| g.conv(range(g, &[1, 1, 6]), range(g, &[1, 1, 3]), None, dilated), &[1, 1, 2], &[10., 13.]);
    let grouped = Conv { groups: 2, ..Conv::default() };
    let build = |g: &GraphBuilder| {
        let bias = g.constant(Tensor::new(&[100f32, 200.], &[2]).expect("two"));
        g.conv(range(g, &[1, 4, 2]), range(g, &[2, 2, 1]), Some(bias), grouped)
    };
    // Channels 0·[0,1] + 1·[2,3] and 2·[4,5] + 3·[6,7].
    gives(build, &[1, 2, 2], &[102., 103., 226., 231.]);
}

#[test]
fn a_tap_outside_multiplies_zero() {
    let padded = Conv { pads: vec![1, 0], ..Conv::default() };
    let infinite =
        |g: &GraphBuilder| g.constant(Tensor::new(&[f32::INFINITY, 1.0], &[1, 1, 2]).expect("two"));
    gives(|g| g.conv(ones(g, &[1, 1, 2]), infinite(g), None, padded), &[1, 1, 2], &[f64::NAN, f64::INFINITY]);
}

#[test]
fn spread_windows() {
    let plain = ConvTranspose::default;
    let want = [
        0., 1., 3., 3., 2., 3., 8., 15., 12., 7., 9., 21., 36., 27., 15., 9., 20., 33., 24., 13., 6., 13.,
        21., 15., 8.,
    ];
    gives(
        |g| g.conv_transpose(range(g, &[1, 1, 3, 3]), ones(g, &[1, 1, 3, 3]), None, plain()),
        &[1, 1, 5, 5],
        &want,
    );
    // Gaps have the bias alone; output padding, too.
    let apart = ConvTranspose { strides: vec![3], output_padding: vec![1], ..plain() };
    let build = |g: &GraphBuilder| {
        g.conv_transpose(ones(g, &[1, 1, 2]), ones(g, &[1, 1, 2]), Some(filled(g, &[1], 5.)), apart)
    };
    gives(build, &[1, 1, 6], &[6., 6., 5., 6., 6., 5.]);
}

/// Of 0 1 2 3 4 5 6 spread to themselves, three are cut off: one and two, or two and one.
#[test]
fn what_is_too_much_is_cut_off() {
    let cut =
        |cut_end: bool, n: u64| ConvTranspose { output_shape: vec![n], cut_end, ..ConvTranspose::default() };
    let build =
        |op| move |g: &GraphBuilder| g.conv_transpose(range(g, &[1, 1, 7]), ones(g, &[1, 1, 1]), None, op);
    gives(build(cut(false, 4)), &[1, 1, 4], &[2., 3., 4., 5.]);
    gives(build(cut(true, 4)), &[1, 1, 4], &[1., 2., 3., 4.]);
    gives(build(cut(false, 5)), &[1, 1, 5], &[1., 2., 3., 4., 5.]);
}

#[test]
fn a_transposed_convolution_is_the_adjoint() {
    let conv = Conv {
        strides: vec![2, 3],
        pads: vec![1, 0, 2, 1],
        dilations: vec![2, 1],
        groups: 2,
        ..Conv::default()
    };
    let back = ConvTranspose {
        strides: conv.strides.clone(),
        pads: conv.pads.clone(),
        dilations: conv.dilations.clone(),
        groups: 2,
        output_padding: vec![0, 1],
        ..ConvTranspose::default()
    };
    let product = |x: Value, y: Value, g: &GraphBuilder| g.reduce_sum(g.mul(x, y), &[], false);
    let wave = |g: &GraphBuilder, shape: &[u64], step: f32| {
        let n: u64 = shape.iter().product();
        let values: Vec<f32> = (0..n).map(|i| (i as f32 * step) % 7.0 - 3.0).collect();
        g.constant(Tensor::new(&values, shape).expect("lengths agree"))
    };
    // ⟨conv(x), y⟩ == ⟨x, conv_transpose(y)⟩.
    let (x, w, y) = ([1, 4, 8, 9], [6, 2, 3, 3], [1, 6, 4, 3]);
    let (_, forward) =
        run(|g| product(g.conv(wave(g, &x, 2.0), wave(g, &w, 3.0), None, conv), wave(g, &y, 5.0), g));
    let (_, backward) = run(|g| {
        product(wave(g, &x, 2.0), g.conv_transpose(wave(g, &y, 5.0), wave(g, &w, 3.0), None, back), g)
    });
    assert_eq!(forward, backward);
    assert_ne!(forward, [0.0]);
}

#[test]
fn pools_of_a_square() {
    let x = |g: &GraphBuilder| range(g, &[1, 1, 4, 4]);
    let max = MaxPool { kernel: vec![3, 3], strides: vec![2, 2], ceil_mode: true, ..MaxPool::default() };
    gives(|g| g.max_pool(x(g), max), &[1, 1, 2, 2], &[10., 11., 14., 15.]);
    let min =
        MinPool { kernel: vec![2, 2], strides: vec![2, 2], pads: vec![1, 1, 1, 1], ..MinPool::default() };
    gives(|g| g.min_pool(x(g), min), &[1, 1, 3, 3], &[0., 1., 3., 4., 5., 7., 12., 13., 15.]);
    let sum = SumPool { kernel: vec![2, 2], strides: vec![2, 2], ..SumPool::default() };
    gives(|g| g.sum_pool(x(g), sum), &[1, 1, 2, 2], &[10., 18., 42., 50.]);
}

/// What is divided by: taps inside; with pads, taps in pads, too, but not what a last window has beyond them.
#[test]
fn divisors_of_means() {
    let of = |count_include_pad: bool| AveragePool {
        kernel: vec![3],
        strides: vec![2],
        pads: vec![1, 1],
        ceil_mode: true,
        count_include_pad,
        ..AveragePool::default()
    };
    // 0 1 2 3 4 5 between pads: (0 1), (1 2 3), (3 4 5), and (5), whose window begins before the end pad.
    let x = |g: &GraphBuilder| range(g, &[1, 1, 6]);
    gives(|g| g.average_pool(x(g), of(false)), &[1, 1, 4], &[0.5, 2., 4., 5.]);
    gives(|g| g.average_pool(x(g), of(true)), &[1, 1, 4], &[f64::from(1f32 / 3.0), 2., 4., 2.5]);
}

#[test]
fn windows_that_see_nothing() {
    let (kernel, dilations, pads) = (vec![2], vec![2], vec![1, 1]);
    let op = MaxPool {
        kernel: kernel.clone(),
        dilations: dilations.clone(),
        pads: pads.clone(),
        ..MaxPool::default()
    };
    gives(|g| g.max_pool(ones(g, &[1, 1, 1]), op.clone()), &[1, 1, 1], &[f64::NEG_INFINITY]);
    let least = |g: &GraphBuilder| g.max_pool(g.constant(Tensor::new(&[7i8], &[1, 1, 1]).expect("one")), op);
    gives(least, &[1, 1, 1], &[-128.]);
    let mean = AveragePool { kernel, dilations, pads, ..AveragePool::default() };
    gives(|g| g.average_pool(ones(g, &[1, 1, 1]), mean.clone()), &[1, 1, 1], &[f64::NAN]);
    let counted = AveragePool { count_include_pad: true, ..mean };
    gives(|g| g.average_pool(ones(g, &[1, 1, 1]), counted), &[1, 1, 1], &[0.]);
}

#[test]
fn channels_by_their_statistics() {
    let build = |g: &GraphBuilder| {
        let of = |values: [f32; 2]| g.constant(Tensor::new(&values, &[2]).expect("two"));
        g.batch_norm(range(g, &[1, 2, 2]), of([1., 3.]), of([10., 20.]), of([0.5, 2.]), of([4., 0.25]), 0.0)
    };
    gives(build, &[1, 2, 2], &[9.75, 10.25, 20., 26.]);
}
