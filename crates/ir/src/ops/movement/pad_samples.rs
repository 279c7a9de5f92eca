//! Samples of `pad`.

use super::pad::{Pad, PadMode};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

fn case(d: DType, shape: &[u64], mode: PadMode, pads: &[i64], axes: &[i64]) -> Sample {
    let sample = Sample::graph(&format!("{d} {shape:?}, {mode:?} {pads:?} of {axes:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.pad(x, None, Pad { mode, pads: pads.to_vec(), axes: axes.to_vec() }));
    });
    sample.fill("x", Fill::Any)
}

/// A value that is given.
fn valued(d: DType) -> Sample {
    let sample = Sample::graph(&format!("{d}, with a value"), |g| {
        let x = g.input("x", tensor(d, [3, 5]));
        let value = g.input("value", tensor::<u64>(d, []));
        g.output("y", g.pad(x, Some(value), Pad { pads: vec![1, -2, 0, 3], ..Pad::default() }));
    });
    sample.fill("x", Fill::Any).fill("value", Fill::Any)
}

/// A result of a function, padded: its bound moves with its elements.
fn of_a_function(mode: PadMode) -> Sample {
    Sample::graph(&format!("{mode:?} of exp"), |g| {
        let x = g.exp(g.input("x", tensor(DType::F32, [4, 33])));
        g.output("y", g.pad(x, None, Pad { mode, pads: vec![1, 2], axes: vec![1] }));
    })
}

/// A symbol of one value: slices know it as a number.
fn one_value() -> Sample {
    let sample = Sample::graph("a symbol that is 5", |g| {
        let x = g.input("x", tensor(DType::F32, [sym("n", 5..=5)]));
        g.output("cropped", g.pad(x, None, Pad { pads: vec![-2, 1], ..Pad::default() }));
        g.output("mirror", g.pad(x, None, Pad { mode: PadMode::Reflect, pads: vec![2, 4], axes: vec![] }));
        g.output("ring", g.pad(x, None, Pad { mode: PadMode::Wrap, pads: vec![5, 5], axes: vec![] }));
    });
    sample.bind("n", 5)
}

fn symbolic(mode: PadMode, pads: &[i64], n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {mode:?} {pads:?}, {n} of 9"), |g| {
        let x = g.input("x", tensor(DType::F32, [3.into(), sym("n", 3..=9), 2.into()]));
        g.output("y", g.pad(x, None, Pad { mode, pads: pads.to_vec(), axes: vec![1, 0] }));
    });
    sample.bind("n", n)
}

/// Every mode over small, empty, long and symbolic axes, every dtype, all eight axes.
pub(super) fn samples() -> Vec<Sample> {
    use PadMode::{Constant, Edge, Reflect, Wrap};
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[], Constant, &[], &[]),
        case(f, &[5], Constant, &[0, 0], &[]),
        case(f, &[5], Constant, &[2, 0], &[]),
        case(f, &[5], Constant, &[0, 3], &[0]),
        case(f, &[5], Constant, &[-2, 4], &[]),
        case(f, &[5], Constant, &[-2, -3], &[]),
        case(f, &[0], Constant, &[2, 1], &[]),
        case(f, &[0, 3], Constant, &[0, 1, 0, 1], &[]),
        case(f, &[2, 3, 5], Constant, &[1, 0, 2, 0, 1, 0], &[]),
        case(f, &[2, 3, 5], Constant, &[1, 4, 2, 3], &[-1, 0]),
        case(f, &[1, 3, 33, 65], Constant, &[1, 2, 3, 4], &[2, 3]),
        case(f, &[1, 1025], Constant, &[511, 1], &[1]),
        case(f, &[5], Reflect, &[4, 4], &[]),
        case(f, &[1], Reflect, &[0, 0], &[]),
        case(f, &[2, 3, 5], Reflect, &[1, 2, 4, 0, 1, 3], &[]),
        case(f, &[3, 400], Reflect, &[200, 200], &[-1]),
        case(f, &[1], Edge, &[3, 4], &[]),
        case(f, &[2, 3, 5], Edge, &[1, 0, 7, 0, 2, 1], &[]),
        case(f, &[0, 3], Edge, &[1, 1], &[1]),
        case(f, &[5], Wrap, &[2, 3], &[]),
        case(f, &[5], Wrap, &[5, 10], &[]),
        case(f, &[3], Wrap, &[11, 7], &[]),
        case(f, &[1, 2], Wrap, &[9, 1, 0, 5], &[]),
        case(f, &[2, 3, 5], Wrap, &[3, 1, 12, 0, 7, 1], &[]),
    ];
    for mode in PadMode::ALL {
        samples.push(case(f, &[2; 8], mode, &[1; 16], &[]));
        samples.extend(DType::ALL.map(|d| case(d, &[3, 4], mode, &[1, 2, 2, 1], &[])));
        samples.extend([3, 6, 9].map(|n| symbolic(mode, &[2, 1, 1, 2], n)));
    }
    samples.extend([3, 9].map(|n| symbolic(Constant, &[-2, 1, -1, 2], n)));
    samples.extend(DType::ALL.map(valued));
    samples.extend(PadMode::ALL.map(of_a_function));
    samples.push(one_value());
    samples
}
