//! `Gather`: slices of a tensor picked by index; an embedding.

use super::indices::{check_constant, expect_indices};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, GradCx, Grads, IndexRange, NoGrad, NodeCx, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::product;
use crate::shape::{sym, tensor};
use pumice_types::{DType, Tensor};

crate::op! {
    /// y\[…, j…, …\] = data\[…, idx\[j…\], …\] along one axis (ONNX Gather): the result's shape is data's with the axis
    /// replaced by the shape of `indices`. A negative index counts from the end; one that is still outside reads 0 and
    /// reports INDEX_OUT_OF_RANGE at run time, or is an error where the index is a constant.
    pub struct Gather {
        /// The axis of data.
        axis: i64 = 0,
    }
}

impl OpDef for Gather {
    const OPERANDS: &'static [&'static str] = &["data", "indices"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (data, indices) = (cx.ty(0)?, expect_indices(cx, 1)?);
        let axis = cx.axis(self.axis, data.rank())?;
        check_constant(cx, 1, &data.shape[axis..=axis])?;
        let mut shape = data.shape[..axis].to_vec();
        shape.extend(indices.shape.iter().chain(&data.shape[axis + 1..]).cloned());
        one(data.dtype(), shape)
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, data: &[u64], index: DType, idx: &[u64], axis: i64, fill: Fill| {
            Sample::graph(&format!("{d} {data:?} by {index} {idx:?} along {axis} {fill:?}"), |g| {
                let x = g.param("data", tensor(d, data.iter().copied()));
                let i = g.input("indices", tensor(index, idx.iter().copied()));
                g.output("y", g.gather(x, i, axis));
            })
            .fill("data", Fill::Any)
            .fill("indices", fill)
        };
        let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
        let mut samples = vec![
            case(f, &[7], i32, &[], 0, Fill::Range(0, 7)),
            case(f, &[7, 3], i64, &[], 0, Fill::Constant(-1.0)),
            case(f, &[7, 3], i32, &[5], 0, Fill::Range(-7, 7)),
            case(f, &[7, 3], i64, &[2, 5], 0, Fill::Range(-7, 7)),
            case(f, &[5, 7, 3], i32, &[4], 1, Fill::Range(-7, 7)),
            case(f, &[5, 7, 3], i64, &[4, 2], -1, Fill::Range(-3, 3)),
            case(f, &[5, 7, 3], i32, &[], 1, Fill::Range(0, 7)),
            case(f, &[7, 3], i32, &[0], 0, Fill::Any),
            case(f, &[7, 0], i32, &[4], 0, Fill::Range(0, 7)),
            case(f, &[0, 3], i32, &[2, 0], 0, Fill::Any),
            case(f, &[1, 33], i32, &[65], 0, Fill::Constant(0.0)),
            case(f, &[1000, 64], i32, &[3, 129], 0, Fill::Range(0, 1000)),
            case(f, &[30, 384], i64, &[2, 17], 0, Fill::Range(0, 30)),
            case(f, &[100, 5], i32, &[70_000], 0, Fill::Range(0, 100)),
            case(f, &[2, 3, 2, 2, 2], i32, &[2, 1, 2, 2], 1, Fill::Range(0, 3)),
            case(f, &[7, 3], i32, &[6], 0, Fill::Ints(vec![0, 7, -8, 6, -7, i64::from(i32::MAX)]))
                .expect_status(),
            case(f, &[7, 3], i64, &[5], 0, Fill::Ints(vec![1, i64::MAX, i64::MIN, (1 << 32) + 1, -1]))
                .expect_status(),
            case(f, &[2, 7], i32, &[4], 1, Fill::Ints(vec![0, 9, 1, -9])).expect_status(),
            case(DType::I64, &[7, 3], i64, &[3], 0, Fill::Ints(vec![2, 7, 0])).expect_status(),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[9, 6], i32, &[4, 3], 0, Fill::Range(-9, 9))));
        samples.extend(DType::ALL.map(|d| case(d, &[4, 9], i64, &[5], 1, Fill::Range(-9, 9))));
        samples.push(Sample::graph("constant indices", |g| {
            let x = g.input("data", tensor(f, [5u64, 3]));
            let idx = Tensor::new(&[4i64, -5, 2], &[3]).expect("three indices");
            let idx = g.constant(idx);
            g.output("y", g.gather(x, idx, 0));
        }));
        samples.extend([1, 6, 20].map(|n| {
            Sample::graph(&format!("symbolic tokens, {n}"), |g| {
                let table = g.param("table", tensor(f, [50u64, 12]));
                let ids = g.input("ids", tensor(i32, [2.into(), sym("n", 1..=20)]));
                g.output("y", g.gather(table, ids, 0));
            })
            .fill("ids", Fill::Range(0, 50))
            .bind("n", n)
        }));
        samples.extend(extreme_indices());
        samples
    }

    fn index_range(&self, cx: &NodeCx<'_>, operand: usize) -> Option<IndexRange> {
        let shape = &cx.graph.ty(cx.operand(0)?).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok().filter(|_| operand == 1)?;
        let end = i64::try_from(shape[axis].as_extent()?).ok()?;
        Some(IndexRange { within: -end..end, besides: None })
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

/// Rows of a table of five that words and quads can be read of, and planes on an inner axis.
fn extreme_indices() -> Vec<Sample> {
    let outside = |i: i64| !(-5..5).contains(&i);
    let table = |g: &GraphBuilder, d: DType| g.param("data", tensor(d, [5u64, 8]));
    let mut samples = Vec::new();
    for d in [DType::F32, DType::F16, DType::I32, DType::I64] {
        samples.extend(steering_samples(&format!("a row of {d}"), 5, outside, |g, i| {
            g.output("y", g.gather(table(g, d), i, 0));
        }));
        for index in [DType::I32, DType::I64] {
            let rows = |g: &GraphBuilder, i| g.output("y", g.gather(table(g, d), i, 0));
            samples.push(steering_list(&format!("rows of {d}"), index, 5, &[7], rows).expect_status());
        }
    }
    samples.push(
        steering_list("planes", DType::I32, 5, &[7], |g, i| {
            g.output("y", g.gather(g.param("data", tensor(DType::F32, [3u64, 5, 3])), i, 1));
        })
        .expect_status(),
    );
    samples
}

/// Rows of dy added up where they were read, duplicates in a fixed order. What was read outside adds nothing.
fn rule(op: &Gather, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, data) = (cx.g, cx.shape(cx.x(0)));
    let axis = crate::infer::normalize_axis(op.axis, data.len()).map_err(|_| NoGrad::Composed)?;
    let read = product(&cx.shape(cx.x(1)));
    let (before, after) = (product(&data[..axis]), product(&data[axis + 1..]));
    let places = g.reshape_to(cx.x(1), vec![read.clone()]);
    if axis == 0 {
        let mut rows = data.clone();
        rows[0] = read;
        return Ok(vec![Some(g.scatter_add(g.reshape_to(cx.dy(), rows), places, data[0].clone()))]);
    }
    let rows = g.transpose(g.reshape_to(cx.dy(), vec![before, read, after]), &[1, 0, 2]);
    let sums = g.transpose(g.scatter_add(rows, places, data[axis].clone()), &[1, 0, 2]);
    Ok(vec![Some(g.reshape_to(sums, data))])
}

impl GraphBuilder {
    /// Slices picked by index along an axis: data\[a…, n, c…\], indices i32 or i64 \[j…\] → \[a…, j…, c…\].
    #[track_caller]
    pub fn gather(&self, data: Value, indices: Value, axis: i64) -> Value {
        self.apply(Gather { axis }, &[data, indices])
    }

    /// Rows of a table: table\[n, d\], ids i32 or i64 \[…\] → \[…, d\].
    #[track_caller]
    pub fn embedding(&self, table: Value, ids: Value) -> Value {
        self.gather(table, ids, 0)
    }
}
