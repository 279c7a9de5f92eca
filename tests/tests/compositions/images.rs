//! Pools, windows as matrices and resampling, as compositions: every dtype, symbolic extents, NaN, views.

use super::{FLOATS, all_near, all_pass};
use pumice_ir::ops::im2col::{Im2Col, Im2ColLayout};
use pumice_ir::ops::lp_pool::LpPool;
use pumice_ir::ops::max_pool::MaxPool;
use pumice_ir::ops::resize::{Resize, ResizeAspect, ResizeCoordinates, ResizeMode, ResizeRounding};
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr};

type Build<'a> = &'a dyn Fn(&GraphBuilder, Value) -> Vec<Value>;

fn of_one(d: DType, shape: &[u64], what: &str, build: Build<'_>) -> Sample {
    Sample::graph(&format!("{d} {shape:?}, {what}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        outputs(g, build(g, x));
    })
}

fn outputs(g: &GraphBuilder, ys: Vec<Value>) {
    ys.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
}

/// x\[b, 2, h, w\], transposed, with b of 0 to 3, h of 1 to 9, w of 3 to 8.
fn symbolic(what: &str, build: Build<'_>) -> Vec<Sample> {
    let sample = |(b, h, w): (u64, u64, u64)| {
        let label = format!("{what}: symbols {b} x {h} x {w}");
        let sample = Sample::graph(&label, |g| {
            let ty = tensor(DType::F32, [sym("b", 0..=3), sym("h", 1..=9), sym("w", 3..=8), 2.into()]);
            let x = g.transpose(g.input("x", ty), &[0, 3, 1, 2]);
            outputs(g, build(g, x));
        });
        sample.bind("b", b).bind("h", h).bind("w", w)
    };
    [(3, 9, 8), (1, 1, 3), (2, 4, 5), (0, 3, 4)].map(sample).into()
}

pub fn places_of_largest(runner: &Runner) {
    let op =
        MaxPool { kernel: vec![3, 2], strides: vec![2, 1], pads: vec![1, 0, 1, 1], ..MaxPool::default() };
    let both = |g: &GraphBuilder, x: Value, op: &MaxPool| {
        let (y, at) = g.max_pool_with_indices(x, op.clone(), 0);
        vec![y, at, g.max_pool_with_indices(x, op.clone(), 1).1]
    };
    let apply = |g: &GraphBuilder, x| both(g, x, &op);
    let dtypes = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64];
    let mut samples: Vec<Sample> =
        dtypes.map(|d| of_one(d, &[2, 3, 6, 5], "places", &apply).fill("x", Fill::Range(-2, 3))).into();
    samples.push(of_one(DType::F32, &[2, 3, 6, 5], "special", &apply).fill("x", Fill::Special));
    samples.push(of_one(DType::F32, &[0, 3, 6, 5], "no batch", &apply));
    samples.extend(symbolic("places", &|g, x| {
        let pads = vec![1; 4];
        both(
            g,
            x,
            &MaxPool {
                kernel: vec![2, 3],
                dilations: vec![1, 2],
                pads,
                ceil_mode: true,
                ..MaxPool::default()
            },
        )
    }));
    let around = MaxPool { kernel: vec![2], dilations: vec![2], pads: vec![1, 1], ..MaxPool::default() };
    samples.push(of_one(DType::F32, &[1, 2, 1], "nothing seen", &|g, x| both(g, x, &around)));
    let wide = MaxPool { kernel: vec![1 << 20], pads: vec![1 << 19, 1 << 19], ..MaxPool::default() };
    samples.push(of_one(DType::F32, &[1, 1, 3], "taps almost all in pads", &|g, x| both(g, x, &wide)));
    all_pass(runner, "max_pool_with_indices", samples);
}

pub fn shared_pools(runner: &Runner) {
    let lp = |p: u64| LpPool {
        kernel: vec![2, 3],
        strides: vec![1, 2],
        pads: vec![1, 0, 0, 1],
        p,
        ..LpPool::default()
    };
    let norms = |g: &GraphBuilder, x: Value| {
        let pools = (1..4).flat_map(|p| [g.lp_pool(x, lp(p)), g.global_lp_pool(x, p)]);
        pools.collect::<Vec<_>>()
    };
    let mut samples: Vec<Sample> = FLOATS.map(|d| of_one(d, &[2, 3, 6, 5], "norms", &norms)).into();
    samples.extend(symbolic("norms", &norms));
    all_near(runner, "lp_pool", 4e-6, samples);
    let means = |g: &GraphBuilder, x: Value| {
        vec![g.adaptive_average_pool(x, &[3, 4]), g.adaptive_average_pool(x, &[1, 7])]
    };
    let mut samples: Vec<Sample> = FLOATS.map(|d| of_one(d, &[2, 3, 7, 5], "means", &means)).into();
    samples.extend(symbolic("means", &means));
    let long = |g: &GraphBuilder, x: Value| vec![g.adaptive_average_pool(x, &[2])];
    samples.push(of_one(DType::F32, &[1, 2, 2_001], "long", &long));
    samples.push(
        of_one(DType::F32, &[1, 1, 9], "one infinite", &|g, x| vec![g.adaptive_average_pool(x, &[4])])
            .fill("x", Fill::Floats(vec![1.0, f64::INFINITY, 2.0, 3.0, -1.0, f64::NAN, 0.5, 4.0, 2.0])),
    );
    all_near(runner, "adaptive_average_pool", 2e-6, samples);
}

pub fn matrices_of_windows(runner: &Runner) {
    let of = |layout| Im2Col {
        kernel: vec![2, 3],
        strides: vec![2, 1],
        pads: vec![1, 0, 0, 2],
        dilations: vec![1, 2],
        layout,
    };
    let both = |g: &GraphBuilder, x: Value| Im2ColLayout::ALL.map(|layout| g.im2col(x, of(layout))).to_vec();
    let mut samples: Vec<Sample> = [DType::F32, DType::F16, DType::U8, DType::I64]
        .map(|d| of_one(d, &[2, 3, 6, 5], "matrix", &both).fill("x", Fill::Any))
        .into();
    samples.extend(symbolic("matrix", &both));
    all_pass(runner, "im2col", samples);
    let back = |g: &GraphBuilder, x: Value| vec![g.col2im(x, &[6, 5], of(Im2ColLayout::Columns))];
    let mut samples: Vec<Sample> = FLOATS.map(|d| of_one(d, &[2, 12, 9], "image", &back)).into();
    let one = |g: &GraphBuilder, x: Value| {
        vec![g.col2im(x, &[300], Im2Col { kernel: vec![200], ..Im2Col::default() })]
    };
    samples.push(of_one(DType::F32, &[1, 200, 101], "long overlaps", &one));
    samples.push(of_one(DType::F32, &[0, 12, 9], "no batch", &back));
    let rows = |n: u64| {
        Sample::graph(&format!("{n} images"), |g| {
            let x = g.input("x", tensor(DType::F32, [sym("n", 0..=3), 12.into(), 9.into()]));
            outputs(g, back(g, x));
        })
        .bind("n", n)
    };
    samples.extend([0, 1, 3].map(rows));
    // Sums of up to 200 terms.
    all_near(runner, "col2im", 1e-5, samples);
}

fn to(sizes: &[u64]) -> Vec<DimExpr> {
    sizes.iter().map(|&n| DimExpr::from(n)).collect()
}

pub fn resamplings(runner: &Runner) {
    for mode in ResizeMode::ALL {
        let mut samples = Vec::new();
        for coordinates in ResizeCoordinates::ALL.into_iter().take(5) {
            let op = Resize { mode, coordinates, axes: vec![2, -1], ..Resize::default() };
            let build = |g: &GraphBuilder, x: Value| {
                let by_size = g.resize(x, Resize { sizes: to(&[5, 1]), ..op.clone() });
                let by_scale = g.resize(x, Resize { scales: vec![1.5, 2.0], ..op.clone() });
                let smaller = g.resize(x, Resize { scales: vec![0.5, 0.3], ..op.clone() });
                vec![by_size, by_scale, smaller]
            };
            samples.extend(symbolic(&format!("{coordinates:?}"), &build));
            samples.extend(FLOATS.map(|d| of_one(d, &[1, 2, 5, 7], &format!("{coordinates:?}"), &build)));
        }
        all_near(runner, "resize", 4e-6, samples);
    }
    let nearest = |g: &GraphBuilder, x: Value| {
        let op = |nearest| Resize { nearest, scales: vec![1.75], axes: vec![1], ..Resize::default() };
        let mut all: Vec<Value> = ResizeRounding::ALL.into_iter().map(|r| g.resize(x, op(r))).collect();
        all.push(g.resize(x, Resize { axes: vec![1], sizes: to(&[0]), ..Resize::default() }));
        all.push(g.resize(
            x,
            Resize { sizes: to(&[5, 4, 3]), aspect: ResizeAspect::NotLarger, ..Resize::default() },
        ));
        all.push(g.upsample(x, &[1.0, 2.5, 1.0], false));
        all.push(g.upsample_nearest_2x(x));
        all
    };
    let dtypes = [DType::F32, DType::BF16, DType::U8, DType::I32, DType::I64, DType::Bool];
    let samples = dtypes.map(|d| of_one(d, &[2, 4, 3], "nearest", &nearest).fill("x", Fill::Any));
    all_pass(runner, "resize", samples.into());
    all_pass(runner, "upsample_nearest_2x", symbolic("twice", &|g, x| vec![g.upsample_nearest_2x(x)]));
    let region = |g: &GraphBuilder, x: Value| {
        let coordinates = ResizeCoordinates::TfCropAndResize;
        let (axes, roi) = (vec![1, 2], vec![0.25, -0.5, 1.5, 0.5]);
        let op = Resize { coordinates, axes, roi, extrapolation_value: 7.5, ..Resize::default() };
        let modes = ResizeMode::ALL.into_iter();
        modes.map(|mode| g.resize(x, Resize { mode, sizes: to(&[5, 4]), ..op.clone() })).collect()
    };
    all_near(runner, "resize", 4e-6, vec![of_one(DType::F32, &[2, 6, 5], "a region", &region)]);
}
