//! Statistics of `LayerNorm` and `RmsNorm` as results: their types, and the nodes that compute them beside the norm.

use super::channels::Steps;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Types, normalize_axis};
use crate::ops::{Affine, ReduceMean, Rsqrt, Square, Sub};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use crate::{Graph, NodeId, Op, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

/// The norm's type, and those of so many statistics.
pub(super) fn with_statistics(types: Types, axis: i64, count: usize) -> Result<Types, OpError> {
    let mut types = types;
    let mut shape = types[0].shape.to_vec();
    let first = normalize_axis(axis, shape.len())?;
    shape[first..].fill(DimExpr::constant(1));
    types.extend((0..count).map(|_| ValueType::new(DType::F32, shape.clone())));
    Ok(types)
}

/// The normalized axes of a tensor of that rank; none where there is no such first axis.
pub(super) fn rows_of(axis: i64, rank: usize) -> Option<Vec<i64>> {
    Some((normalize_axis(axis, rank).ok()?..rank).map(|axis| axis as i64).collect())
}

/// 1/√(mean v² + ε) over these axes, which stay with extent 1: the inverse deviation of what lies about its mean.
pub(super) fn inverse_of(g: &GraphBuilder, v: Value, axes: &[i64], epsilon: f32) -> Value {
    let spread = g.reduce_mean(g.square(v), axes, true);
    g.rsqrt(g.affine(spread, 1.0, epsilon))
}

/// N(x) with its statistics == N(x) without, and μ == ReduceMean(x), 1/√(σ² + ε) == Rsqrt(ReduceMean(Square(x − μ)) +
/// ε), in f32; of a norm with one statistic without the difference.
pub(super) fn apart(graph: &Graph, id: NodeId, plain: Op, axis: i64, epsilon: f32) -> Option<Patch> {
    let node = graph.node(id);
    let x = node.input(0)?;
    let axes = rows_of(axis, graph.ty(x).rank())?;
    let mean_of = ReduceMean { axes, keepdims: true, noop_with_empty_axes: false };
    let mut steps = Steps::new(graph, id);
    let inputs = node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
    let y = steps.patch.add_opt(plain, graph.node_name(id), inputs);
    let wide = steps.widened(x);
    let mut results = vec![y];
    results.extend(statistics(&mut steps, wide, &mean_of, (node.outputs.len() == 3, epsilon)));
    let mut patch = steps.patch;
    node.outputs.iter().zip(results).for_each(|(&old, new)| patch.replace(old, new));
    Some(patch)
}

/// The mean of x where it is one of them, and the inverse deviation.
fn statistics(
    steps: &mut Steps<'_>,
    x: PatchRef,
    mean_of: &ReduceMean,
    (centred, epsilon): (bool, f32),
) -> Vec<PatchRef> {
    let (mut results, mut about) = (Vec::new(), x);
    if centred {
        let mean = steps.add("mean", mean_of.clone(), &[x]);
        about = steps.add("apart", Sub {}, &[x, mean]);
        results.push(mean);
    }
    let squares = steps.add("squares", Square {}, &[about]);
    let spread = steps.add("spread", mean_of.clone(), &[squares]);
    let raised = steps.add("raised", Affine { mul: 1.0, add: epsilon }, &[spread]);
    results.push(steps.add("inverse", Rsqrt {}, &[raised]));
    results
}

/// Samples of a norm with its statistics, from that axis on: all of them read, and each alone.
pub(super) fn statistics_samples(op: impl Fn(i64) -> Op) -> Vec<Sample> {
    let f = DType::F32;
    let all = |g: &GraphBuilder, shape: &[u64], d: DType, axis: i64| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let last = shape[shape.len() - 1];
        let [gamma, beta] = ["gamma", "beta"].map(|name| Some(g.param(name, tensor(d, [last]))));
        g.apply_all(op(axis), &[Some(x), gamma, beta])
    };
    let case = |shape: &[u64], d: DType, axis: i64| {
        Sample::graph(&format!("statistics of {d} {shape:?} from {axis}"), |g| {
            for (i, v) in all(g, shape, d, axis).into_iter().enumerate() {
                g.output(&format!("y{i}"), v);
            }
        })
    };
    let shapes: [(&[u64], i64); 10] = [
        (&[3, 1], -1),
        (&[5, 384], -1),
        (&[2, 3, 4, 5], 1),
        (&[2, 3, 4, 5], -2),
        (&[37], 0),
        (&[3, 1025], 1),
        (&[0, 5], -1),
        (&[4, 0], -1),
        (&[70_000, 3], -1),
        (&[2, 20_000], -1),
    ];
    let mut samples: Vec<Sample> = shapes.iter().map(|&(shape, axis)| case(shape, f, axis)).collect();
    samples.extend([DType::F16, DType::BF16].map(|d| case(&[4, 7, 96], d, -1)));
    let filled = |label: &str, fill| Sample { label: label.into(), ..case(&[6, 96], f, -1) }.fill("x", fill);
    samples.push(filled("statistics far from 0", Fill::Uniform(9999.0, 10_001.0)));
    samples.push(filled("statistics of equal values", Fill::Constant(-3.0)));
    samples.push(filled("statistics of what is not finite", Fill::Special));
    samples.extend([1, 9].map(|n| {
        Sample::graph(&format!("statistics of symbolic rows, {n} of 9"), |g| {
            let x = g.input("x", tensor(f, [2.into(), sym("n", 1..=9), 48.into()]));
            let gamma = g.param("gamma", tensor(f, [48u64]));
            for (i, v) in g.apply_all(op(-2), &[Some(x), Some(gamma), None]).into_iter().enumerate() {
                g.output(&format!("y{i}"), v);
            }
        })
        .bind("n", n)
    }));
    let count = 3 - usize::from(matches!(op(-1), Op::RmsNorm(_)));
    samples.extend(
        (0..count).map(|i| {
            Sample::graph(&format!("result {i} alone"), |g| g.output("y", all(g, &[5, 48], f, -1)[i]))
        }),
    );
    samples
}
