//! Samples of `Rotary` with factors of frequencies, magnitudes and YaRN.

use crate::builder::{GraphBuilder, Value};
use crate::ops::attention::AttentionLayout;
use crate::ops::rotary::Rotary;
use crate::ops::rotary_scaling::{RotaryScaling, Yarn};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::{i32, tensor};
use pumice_types::DType::{self, F16, F32, I32};
use pumice_types::Tensor;

/// Batch, heads, sequence and width.
type Size = [u64; 4];

const BASE: Size = [2, 3, 5, 16];

fn operands(g: &GraphBuilder, n: Size, op: &Rotary, dtype: DType) -> (Value, Value) {
    let mut shape = [0; 4];
    op.layout.axes().into_iter().zip(n).for_each(|(axis, extent)| shape[axis] = extent);
    (g.input("x", tensor(dtype, shape)), g.input("pos", i32([n[0], n[2]])))
}

fn pairs(n: Size, op: &Rotary) -> u64 {
    op.n_rot.map_or(n[3], |r| r as u64) / 2
}

/// Factors as a param.
fn by_param(n: Size, op: &Rotary, dtype: DType, pos: Fill, factors: Fill) -> Sample {
    Sample::graph(&format!("{dtype} {n:?} {op:?} at {pos:?} over a param {factors:?}"), |g| {
        let (x, pos) = operands(g, n, op, dtype);
        let factors = g.param("factors", tensor(F32, [pairs(n, op)]));
        g.output("y", g.rotary_by_factors(x, pos, factors, op.clone()));
    })
    .fill("pos", pos)
    .fill("factors", factors)
}

/// Factors as a constant.
fn by_constant(n: Size, op: &Rotary, pos: Fill, factors: &[f32]) -> Sample {
    Sample::graph(&format!("{n:?} {op:?} at {pos:?} over {factors:?}"), |g| {
        let (x, pos) = operands(g, n, op, F32);
        let data = Tensor::new(factors, &[factors.len() as u64]).expect("as many as it says");
        g.output("y", g.rotary_by_factors(x, pos, g.constant(data), op.clone()));
    })
    .fill("pos", pos)
}

fn by_yarn(n: Size, op: &Rotary, yarn: Yarn, pos: Fill, given: bool) -> Sample {
    Sample::graph(&format!("{n:?} {op:?} {yarn:?} at {pos:?}, given {given}"), |g| {
        let (x, pos) = operands(g, n, op, F32);
        let factors = given.then(|| g.param("factors", tensor(F32, [pairs(n, op)])));
        let scaling = RotaryScaling { yarn: Some(yarn.clone()), ..RotaryScaling::default() };
        g.output("y", g.rotary_scaled(x, pos, factors, scaling, op.clone()));
    })
    .fill("pos", pos)
    .fill("factors", Fill::Uniform(0.5, 8.0))
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let usual = || Fill::Uniform(0.5, 8.0);
    let far = || Fill::Range(65_536, 131_072);
    let mut samples = Vec::new();
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        for interleaved in [false, true] {
            let op = Rotary { layout, interleaved, ..Rotary::default() };
            let part = Rotary { n_rot: Some(6), magnitude: 0.75, ..op.clone() };
            samples.extend([
                by_param(BASE, &op, F32, Fill::Range(0, 4096), usual()),
                by_param(BASE, &part, F32, Fill::Range(-50, 50), usual()),
                by_constant(BASE, &part, Fill::Range(0, 100), &[1.0, 0.25, 3.5]),
                magnified(&Rotary { magnitude: -1.5, ..op }),
            ]);
        }
    }
    let op = Rotary::default();
    let slow = Rotary { theta: 5e5, freq_scale: 0.25, magnitude: 1.25, ..op.clone() };
    let odd = vec![0.0, f64::NAN, f64::INFINITY, -2.0, 1e-4, 1e30, f64::NEG_INFINITY, 3e-7];
    let wide: Size = [1, 2, 9, 128];
    samples.extend([
        by_param(wide, &op, F32, far(), usual()),
        by_param(wide, &slow, F32, far(), Fill::Uniform(0.1, 2.0)),
        by_param(BASE, &slow, F16, Fill::Range(0, 512), usual()),
        by_param(BASE, &Rotary { freq_scale: -0.5, ..op.clone() }, F32, far(), Fill::Uniform(-4.0, -0.5)),
        by_param(BASE, &Rotary { freq_scale: 0.0, ..op.clone() }, F32, far(), usual()),
        by_param(BASE, &Rotary { magnitude: 0.0, ..op.clone() }, F32, far(), usual()),
        by_param(BASE, &op, F32, Fill::Constant(1.0), Fill::Floats(odd)),
        by_param(BASE, &Rotary { n_rot: Some(0), ..op.clone() }, F32, far(), usual()),
        by_param([2, 3, 0, 16], &op, F32, far(), usual()),
        by_constant(BASE, &op, far(), &[1.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0]),
        by_constant(
            BASE,
            &op,
            Fill::Constant(1.0),
            &[0.0, f32::NAN, 1.0, f32::INFINITY, 2.0, 1e-7, -1.0, 1.0],
        ),
    ]);
    let yarns = [
        Yarn::default(),
        Yarn { ext: 0.0, attn: 1.5, ..Yarn::default() },
        Yarn { ext: 0.5, beta_fast: 8.0, beta_slow: 2.0, original_context: 128, ..Yarn::default() },
        Yarn { beta_fast: 1e6, beta_slow: 1e-3, ..Yarn::default() },
    ];
    let long = Rotary { freq_scale: 0.125, ..op.clone() };
    for yarn in yarns {
        samples.push(by_yarn(wide, &long, yarn.clone(), far(), false));
        samples.push(by_yarn(BASE, &Rotary { n_rot: Some(12), ..long.clone() }, yarn, far(), true));
    }
    samples.extend(extreme_positions(&op));
    samples
}

/// Tables under a magnitude.
fn magnified(op: &Rotary) -> Sample {
    Sample::graph(&format!("tables under {op:?}"), |g| {
        let (x, pos) = operands(g, BASE, op, F32);
        let [cos, sin] = ["cos", "sin"].map(|name| g.param(name, tensor(F32, [9u64, 8])));
        g.output("y", g.rotary_tables(x, cos, sin, Some(pos), op.clone()));
    })
    .fill("pos", Fill::Range(0, 9))
}

/// Positions at the ends of i32 over factors.
fn extreme_positions(op: &Rotary) -> Vec<Sample> {
    let turned = |g: &GraphBuilder, pos: Value, shape: [u64; 4]| {
        let factors = g.param("factors", tensor(F32, [4u64]));
        let x = g.input("x", tensor(F32, shape));
        g.output("y", g.rotary_by_factors(x, pos, factors, op.clone()));
    };
    let mut samples =
        steering_samples("angles over factors", 9, |_| false, |g, p| turned(g, p, [2, 2, 3, 8]));
    samples.push(steering_list("angles over factors", I32, 8, &[7, 1], |g, p| turned(g, p, [7, 2, 1, 8])));
    // Of powers of two no position's angle is rounded differently.
    let fill = || Fill::Floats(vec![1.0, 2.0, 0.5, 16.0]);
    samples.into_iter().map(|sample| sample.fill("factors", fill())).collect()
}
