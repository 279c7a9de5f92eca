//! Ops that move elements, as compositions: `stack`, `tile`, `repeat_interleave`, `reverse`, `fill`, `shape`, `size`,
//! `one_hot`, `trilu`, `eye_like`, `depth_to_space`, `space_to_depth`.

use super::all_pass;
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::depth_to_space::DepthOrder;
use pumice_ir::ops::pad::Pad;
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr};

/// One operand of that dtype and shape, any bits.
fn of_one(d: DType, shape: &[u64], what: &str, build: impl Fn(&GraphBuilder, Value) -> Value) -> Sample {
    let sample = Sample::graph(&format!("{d} {shape:?}, {what}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", build(g, x));
    });
    sample.fill("x", Fill::Any)
}

/// Several results of one operand whose first axis is a symbol of 0 to 70.
fn symbolic(build: impl Fn(&GraphBuilder, Value) -> Vec<Value>) -> Vec<Sample> {
    let sample = |n: u64| {
        let sample = Sample::graph(&format!("symbolic, {n} of 70"), |g| {
            let x = g.input("x", tensor(DType::F32, [sym("n", 0..=70), 5.into()]));
            for (i, y) in build(g, x).into_iter().enumerate() {
                g.output(&format!("y{i}"), y);
            }
        });
        sample.bind("n", n)
    };
    [0, 1, 33, 70].map(sample).into()
}

pub fn stacks(runner: &Runner) {
    let case = |d: DType, shape: &[u64], count: usize, axis: i64| {
        let sample = Sample::graph(&format!("{d} {shape:?}, {count} along {axis}"), |g| {
            let input = |i: usize| g.input(&format!("x{i}"), tensor(d, shape.iter().copied()));
            g.output("y", g.stack(&(0..count).map(input).collect::<Vec<_>>(), axis));
        });
        (0..count).fold(sample, |s, i| s.fill(&format!("x{i}"), Fill::Any))
    };
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[], 3, 0),
        case(f, &[], 1, -1),
        case(f, &[5], 2, 0),
        case(f, &[5], 2, -1),
        case(f, &[3, 0], 2, 1),
        case(f, &[2, 3, 33], 11, -2),
        case(f, &[1, 2, 1, 3, 1, 2, 2], 2, 4),
    ];
    samples.extend(DType::ALL.map(|d| case(d, &[3, 4], 2, 1)));
    samples.extend(symbolic(|g, x| vec![g.stack(&[x, g.neg(x)], 0), g.stack(&[x, x, x], -1)]));
    all_pass(runner, "stack", samples);
}

pub fn tiles(runner: &Runner) {
    let case = |d: DType, shape: &[u64], repeats: &[u64]| {
        of_one(d, shape, &format!("{repeats:?} times"), |g, x| g.tile(x, repeats))
    };
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[], &[]),
        case(f, &[5], &[1]),
        case(f, &[5], &[3]),
        case(f, &[5], &[0]),
        case(f, &[0], &[3]),
        case(f, &[2, 3], &[2, 1]),
        case(f, &[2, 3], &[1, 400]),
        case(f, &[2, 3, 5], &[2, 3, 4]),
        case(f, &[2, 3, 5, 2], &[2, 3, 1, 4]),
        case(f, &[1, 33, 1], &[64, 1, 65]),
        case(f, &[2; 8], &[2, 1, 1, 1, 1, 1, 1, 3]),
        case(f, &[2, 1, 2, 1, 2, 1, 2, 1], &[2, 3, 1, 2, 2, 1, 2, 3]),
    ];
    samples.extend(DType::ALL.map(|d| case(d, &[3, 4], &[2, 3])));
    samples.extend(symbolic(|g, x| vec![g.tile(x, &[2, 1]), g.tile(x, &[1, 3]), g.tile(x, &[3, 2])]));
    all_pass(runner, "tile", samples);

    let case = |d: DType, shape: &[u64], repeats: u64, axis: i64| {
        of_one(d, shape, &format!("{repeats} of each along {axis}"), |g, x| {
            g.repeat_interleave(x, repeats, axis)
        })
    };
    let mut samples = vec![
        case(f, &[5], 1, 0),
        case(f, &[5], 3, 0),
        case(f, &[5], 0, 0),
        case(f, &[3, 0], 2, 1),
        case(f, &[2, 3, 65], 4, -2),
        case(f, &[2, 3], 300, -1),
        case(f, &[2; 8], 3, 5),
    ];
    samples.extend(DType::ALL.map(|d| case(d, &[3, 4], 2, 0)));
    samples.extend(symbolic(|g, x| vec![g.repeat_interleave(x, 3, 0), g.repeat_interleave(x, 2, 1)]));
    all_pass(runner, "repeat_interleave", samples);
}

pub fn reversals(runner: &Runner) {
    let case = |d: DType, shape: &[u64], axes: &[i64]| {
        of_one(d, shape, &format!("axes {axes:?}"), |g, x| g.reverse(x, axes))
    };
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[], &[]),
        case(f, &[5], &[]),
        case(f, &[5], &[0]),
        case(f, &[0, 3], &[0, 1]),
        case(f, &[2, 3, 65], &[-1, 0]),
        case(f, &[1, 1025], &[1]),
        case(f, &[2; 8], &[0, 1, 2, 3, 4, 5, 6, 7]),
    ];
    samples.extend(DType::ALL.map(|d| case(d, &[3, 5], &[1])));
    samples.extend(symbolic(|g, x| vec![g.reverse(x, &[0]), g.reverse(g.exp(x), &[0, 1])]));
    all_pass(runner, "reverse", samples);
}

/// Zeros around an image, which the window takes in, of every dtype, with bias, strides and groups, where weights are
/// infinite at the border, beside a use of the padded image itself.
pub fn padded_convolutions(runner: &Runner) {
    let case = |d: DType, image: &[u64], weights: &[u64], pads: &[i64], op: Conv| {
        let axes: Vec<i64> = (2..image.len() as i64).collect();
        let label = format!("{d} {image:?} by {weights:?}, {pads:?} and {op:?}");
        Sample::graph(&label, |g| {
            let x = g.input("x", tensor(d, image.iter().copied()));
            let w = g.input("w", tensor(d, weights.iter().copied()));
            let bias = g.input("bias", tensor(d, [weights[0]]));
            let padded = g.pad(x, None, Pad { pads: pads.to_vec(), axes: axes.clone(), ..Pad::default() });
            g.output("y", g.conv(padded, w, Some(bias), op.clone()));
            if pads[0] == 2 {
                g.output("padded", padded);
            }
        })
    };
    let strided = || Conv { strides: vec![2, 1], pads: vec![1, 0, 0, 2], ..Conv::default() };
    let mut samples: Vec<Sample> = [DType::F32, DType::F16, DType::BF16]
        .into_iter()
        .flat_map(|d| {
            [
                case(d, &[1, 3, 9, 8], &[5, 3, 3, 3], &[1, 1, 1, 1], Conv::default()),
                case(d, &[2, 4, 7, 6], &[6, 2, 3, 2], &[2, 0, 1, 3], Conv { groups: 2, ..strided() }),
                case(d, &[1, 2, 33], &[4, 2, 5], &[2, 2], Conv { dilations: vec![3], ..Conv::default() }),
                case(d, &[1, 2, 3, 4, 5], &[3, 2, 1, 2, 3], &[0, 1, 1, 0, 0, 1], Conv::default()),
                case(d, &[1, 2, 0, 4], &[3, 2, 1, 1], &[1, 1, 1, 1], Conv::default()),
            ]
        })
        .collect();
    let infinite = case(DType::F32, &[1, 1, 3, 3], &[1, 1, 3, 3], &[1, 1, 1, 1], Conv::default());
    samples.push(infinite.fill("w", Fill::Floats(vec![1.0, f64::INFINITY, 2.0])));
    all_pass(runner, "conv of pad", samples);
}

pub fn fills(runner: &Runner) {
    let case = |d: DType, shape: &[u64]| {
        of_one(d, &[], &format!("to {shape:?}"), |g, x| g.fill(x, shape.iter().map(|&n| n.into()).collect()))
    };
    let mut samples: Vec<Sample> = DType::ALL.map(|d| case(d, &[3, 5])).into();
    samples.extend([&[][..], &[0], &[70_001], &[2, 1, 3]].map(|shape| case(DType::F32, shape)));
    samples.extend(symbolic(|g, x| {
        vec![g.fill(g.constant_scalar(DType::F32, -1.5), vec![g.dim_of(x, 0) * 2, DimExpr::constant(3)])]
    }));
    all_pass(runner, "fill", samples);
}

pub fn extents(runner: &Runner) {
    let mut samples = symbolic(|g, x| {
        let y = g.unsqueeze(x, &[1]);
        vec![g.shape(x, 0, None), g.shape(y, 1, None), g.shape(y, -3, Some(-1)), g.size(x), g.size(y)]
    });
    samples.push(of_one(DType::F32, &[3, 4], "its extents", |g, x| g.shape(x, 0, None)));
    samples.push(of_one(DType::F32, &[3, 4], "none of its extents", |g, x| g.shape(x, 2, Some(1))));
    samples.push(of_one(DType::F32, &[3, 4], "beyond its rank", |g, x| g.shape(x, -9, Some(9))));
    samples.push(of_one(DType::I8, &[3, 0], "its size", |g, x| g.size(x)));
    samples.push(of_one(DType::Bool, &[], "its size", |g, x| g.size(x)));
    all_pass(runner, "shape", samples);
}

pub fn one_hots(runner: &Runner) {
    let case = |d: DType, shape: &[u64], depth: u64, axis: i64| {
        let sample = Sample::graph(&format!("{d} {shape:?}, {depth} along {axis}"), |g| {
            let indices = g.input("indices", tensor(d, shape.iter().copied()));
            g.output("y", g.one_hot(indices, depth, None, axis));
        });
        let least = if matches!(d, DType::U8 | DType::U16 | DType::U32) { 0 } else { -(depth as i64) - 2 };
        sample.fill("indices", Fill::Range(least, depth as i64 + 2))
    };
    let i = DType::I32;
    let mut samples = vec![
        case(i, &[], 5, 0),
        case(i, &[7], 1, -1),
        case(i, &[7], 0, 0),
        case(i, &[0], 3, 0),
        case(i, &[7], 5, 0),
        case(i, &[2, 3], 33, 1),
        case(i, &[2, 3], 300, -1),
        case(i, &[1, 2, 1, 3, 1, 2, 2], 4, 3),
    ];
    let dtypes = [DType::I8, DType::U8, DType::I16, DType::U16, DType::U32, DType::I64];
    samples.extend(dtypes.map(|d| case(d, &[9], 6, -1)));
    samples.extend(DType::ALL.map(|d| {
        let sample = Sample::graph(&format!("values of {d}"), |g| {
            let indices = g.input("indices", tensor(i, [11]));
            g.output("y", g.one_hot(indices, 4, Some(g.input("values", tensor(d, [2]))), 0));
        });
        sample.fill("indices", Fill::Range(-5, 5)).fill("values", Fill::Any)
    }));
    let extremes = vec![i64::MIN, -(1 << 32) - 1, 1 << 32, (1 << 32) + 2, i64::MAX, -1, 2];
    let wide = Sample::graph("i64 whose low words are inside", |g| {
        g.output("y", g.one_hot(g.input("indices", tensor(DType::I64, [7])), 4, None, -1));
    });
    samples.push(wide.fill("indices", Fill::Ints(extremes)));
    samples.extend(symbolic(|g, x| {
        let n = g.dim_of(x, 0);
        let places = g.range(0, n.clone(), 1, DType::I32);
        vec![g.one_hot(places, n, None, -1), g.one_hot(places, 7, None, 0)]
    }));
    all_pass(runner, "one_hot", samples);
}

pub fn triangles(runner: &Runner) {
    let case = |d: DType, shape: &[u64], k: i64, upper: bool| {
        of_one(d, shape, &format!("k {k}, upper {upper}"), |g, x| g.trilu(x, k, upper))
    };
    let mut samples = Vec::new();
    for upper in [false, true] {
        for k in [0, 1, -1, 2, -3, 5, -7, i64::MIN, i64::MAX] {
            samples.push(case(DType::F32, &[4, 5], k, upper));
        }
        for shape in [&[5, 4][..], &[0, 3], &[3, 0], &[2, 3, 65, 33], &[1, 1]] {
            samples.push(case(DType::F32, shape, 0, upper));
        }
        samples.extend(DType::ALL.map(|d| case(d, &[3, 3], 0, upper)));
    }
    let special = of_one(DType::F32, &[33, 33], "NaN in both parts", |g, x| g.trilu(x, 0, false));
    samples.push(special.fill("x", Fill::Special));
    samples.extend(symbolic(|g, x| {
        vec![g.trilu(x, 0, false), g.trilu(x, 1, true), g.trilu(g.exp(x), -2, true)]
    }));
    all_pass(runner, "trilu", samples);
}

pub fn diagonals(runner: &Runner) {
    let case = |d: DType, shape: &[u64], dtype: Option<DType>, k: i64| {
        of_one(d, shape, &format!("k {k}, {dtype:?}"), |g, x| g.eye_like(x, dtype, k))
    };
    let mut samples: Vec<Sample> =
        [0, 1, -1, 4, -3, 5, -7, i64::MIN, i64::MAX].map(|k| case(DType::F32, &[4, 5], None, k)).into();
    samples.extend([&[5, 4][..], &[0, 3], &[3, 0], &[1, 1], &[65, 33]].map(|s| case(DType::F32, s, None, 0)));
    samples.extend(DType::ALL.map(|d| case(d, &[3, 3], None, 0)));
    samples.extend(DType::ALL.map(|d| case(DType::F32, &[3, 4], Some(d), 1)));
    samples.extend(symbolic(|g, x| vec![g.eye_like(x, None, 0), g.eye_like(x, Some(DType::I64), -2)]));
    all_pass(runner, "eye_like", samples);
}

pub fn blocks_of_pixels(runner: &Runner) {
    for order in DepthOrder::ALL {
        let deep = |d: DType, shape: &[u64], size: u64| {
            of_one(d, shape, &format!("{size} {order:?}"), |g, x| g.depth_to_space(x, size, order))
        };
        let wide = |d: DType, shape: &[u64], size: u64| {
            of_one(d, shape, &format!("{size} {order:?}"), |g, x| g.space_to_depth(x, size, order))
        };
        let f = DType::F32;
        let mut there = vec![
            deep(f, &[1, 4, 1, 1], 2),
            deep(f, &[2, 12, 3, 5], 2),
            deep(f, &[1, 18, 2, 33], 3),
            deep(f, &[2, 5, 3, 2], 1),
            deep(f, &[0, 4, 2, 2], 2),
            deep(f, &[1, 4, 0, 2], 2),
        ];
        let mut back = vec![
            wide(f, &[1, 1, 2, 2], 2),
            wide(f, &[2, 3, 6, 10], 2),
            wide(f, &[1, 2, 6, 99], 3),
            wide(f, &[2, 5, 3, 2], 1),
            wide(f, &[0, 1, 4, 4], 2),
        ];
        there.extend(DType::ALL.map(|d| deep(d, &[1, 8, 2, 3], 2)));
        back.extend(DType::ALL.map(|d| wide(d, &[1, 2, 4, 6], 2)));
        back.extend([(0, 1), (2, 3), (3, 4)].map(|(b, h)| there_and_back(order, b, h)));
        all_pass(runner, "depth_to_space", there);
        all_pass(runner, "space_to_depth", back);
    }
}

fn there_and_back(order: DepthOrder, b: u64, h: u64) -> Sample {
    Sample::graph(&format!("there and back of {b} and {h}, {order:?}"), |g| {
        let ty = tensor(DType::F32, [sym("b", 0..=3), 8.into(), sym("h", 1..=4), 5.into()]);
        let there = g.depth_to_space(g.input("x", ty), 2, order);
        g.output("there", there);
        g.output("back", g.space_to_depth(there, 2, order));
    })
    .bind("b", b)
    .bind("h", h)
}
