//! `GatherNd`: slices of a tensor picked by tuples of indices.

use super::indices::{check_constant, expect_indices};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::scatter::ScatterReduction;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use pumice_types::{DType, DimExpr, Tensor};

crate::op! {
    /// y\[b…, j…, c…\] = data\[b…, t₀, …, tₖ₋₁, c…\] with the tuple t = indices\[b…, j…, :\] (ONNX GatherND): the first
    /// `batch_dims` axes of both are b, the last axis of `indices` is the k axes of data after them that a tuple
    /// indexes, 1 ≤ k ≤ rank − batch_dims. A negative index counts from the end; a tuple with one that is still outside
    /// reads zeros and reports INDEX_OUT_OF_RANGE at run time, or is an error where the index is a constant. Bits are
    /// moved as they are.
    pub struct GatherNd {
        /// How many first axes data and indices have in common.
        batch_dims: u64 = 0 => ANY,
    }
}

/// How the axes of data are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TupleAxes {
    /// Axes that data and indices have in common.
    pub batch: usize,
    /// Axes that a tuple indexes.
    pub tuple: usize,
}

impl GatherNd {
    /// The axes of operands of these types, or why there are none.
    ///
    /// # Errors
    /// Indices without axes or with a last one that is not constant, tuples of none or too many axes.
    pub fn axes(&self, data: &ValueType, indices: &ValueType) -> Result<TupleAxes, OpError> {
        let batch = self.batch_dims as usize;
        let Some((last, before)) = indices.shape.split_last() else {
            let expected = "expected at least 1, whose last axis is the tuples'".to_owned();
            return Err(OpError::Rank { operand: "indices", rank: 0, expected });
        };
        if batch > before.len() {
            let expected = format!("expected more than batch_dims, {batch}");
            return Err(OpError::Rank { operand: "indices", rank: indices.rank(), expected });
        }
        let most = data.rank().saturating_sub(batch);
        let tuple = last.as_extent().and_then(|k| usize::try_from(k).ok()).filter(|k| (1..=most).contains(k));
        let tuple = tuple.ok_or_else(|| {
            OpError::Invalid(format!(
                "the last axis of the indices is the number of axes that a tuple indexes: a constant from 1 to {most}"
            ))
        })?;
        Ok(TupleAxes { batch, tuple })
    }
}

impl OpDef for GatherNd {
    const OPERANDS: &'static [&'static str] = &["data", "indices"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (data, indices) = (cx.ty(0)?, expect_indices(cx, 1)?);
        let TupleAxes { batch, tuple } = self.axes(data, indices)?;
        for (a, b) in data.shape[..batch].iter().zip(indices.shape.iter()) {
            cx.equal(a, b, "extents of a batch axis")?;
        }
        let (tuples, slices) = (batch..batch + tuple, &data.shape[batch + tuple..]);
        check_constant(cx, 1, &data.shape[tuples])?;
        let places = &indices.shape[..indices.rank() - 1];
        let shape: Vec<DimExpr> = places.iter().chain(slices).cloned().collect();
        one(data.dtype(), shape)
    }

    fn samples() -> Vec<Sample> {
        let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
        let mut samples = vec![
            case(f, &[7], i32, &[1], 0, Fill::Constant(-1.0)),
            case(f, &[7], i64, &[5, 1], 0, Fill::Range(-7, 7)),
            case(f, &[7, 3], i32, &[2], 0, Fill::Range(-3, 3)),
            case(f, &[7, 3], i32, &[5, 2], 0, Fill::Range(-3, 3)),
            case(f, &[7, 3], i64, &[5, 1], 0, Fill::Range(-7, 7)),
            case(f, &[5, 7, 33], i32, &[4, 3, 2], 0, Fill::Range(-5, 5)),
            case(f, &[5, 7, 3], i32, &[5, 4, 1], 1, Fill::Range(-7, 7)),
            case(f, &[5, 7, 3], i64, &[5, 2], 1, Fill::Range(-3, 3)),
            case(f, &[5, 3, 7], i32, &[5, 3, 1], 2, Fill::Range(-7, 7)),
            case(f, &[2, 3, 2, 2, 2], i32, &[2, 6, 3], 1, Fill::Range(-2, 2)),
            case(f, &[2, 2, 3, 2, 2, 2, 3, 2], i32, &[9, 8], 0, Fill::Range(-2, 2)),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 3], i64, &[2, 2, 2, 2, 2, 2, 2, 1], 7, Fill::Range(-3, 3)),
            case(f, &[7, 3], i32, &[0, 2], 0, Fill::Any),
            case(f, &[7, 0], i32, &[4, 1], 0, Fill::Range(0, 7)),
            case(f, &[0, 7], i32, &[0, 4, 1], 1, Fill::Any),
            case(f, &[300, 65], i32, &[129, 1], 0, Fill::Range(0, 300)),
            case(f, &[9, 9], i32, &[70_000, 2], 0, Fill::Range(0, 9)),
            case(f, &[0, 3], i32, &[2, 1], 0, Fill::Constant(0.0)).expect_status(),
            case(f, &[7, 0], i32, &[3, 2], 0, Fill::Constant(0.0)).expect_status(),
            case(f, &[7, 3], i32, &[3, 2], 0, Fill::Ints(vec![0, 2, -7, -3, 6, 3])).expect_status(),
            case(f, &[7, 3], i32, &[3, 2], 0, Fill::Ints(vec![6, 2, 7, 1, -8, -4])).expect_status(),
            case(f, &[7, 3], i64, &[5, 1], 0, Fill::Ints(vec![1, i64::MAX, i64::MIN, (1 << 32) + 1, -1]))
                .expect_status(),
            case(i64, &[7, 3], i64, &[3, 1], 0, Fill::Ints(vec![2, 7, 0])).expect_status(),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[9, 6], i32, &[4, 2], 0, Fill::Range(-6, 6))));
        samples.extend(DType::ALL.map(|d| case(d, &[4, 9, 3], i64, &[4, 5, 1], 1, Fill::Range(-9, 9))));
        samples.extend(of_views());
        samples.extend([1, 6, 20].map(symbolic));
        samples.extend(extreme_indices());
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

fn case(d: DType, data: &[u64], index: DType, idx: &[u64], batch_dims: u64, fill: Fill) -> Sample {
    let label = format!("{d} {data:?} by {index} {idx:?} of {batch_dims} batch axes {fill:?}");
    Sample::graph(&label, |g| {
        let x = g.param("data", tensor(d, data.iter().copied()));
        let i = g.input("indices", tensor(index, idx.iter().copied()));
        g.output("y", g.gather_nd(x, i, batch_dims));
    })
    .fill("data", Fill::Any)
    .fill("indices", fill)
}

/// Data in another order, and indices that are a constant.
fn of_views() -> Vec<Sample> {
    vec![
        Sample::graph("transposed data", |g| {
            let x = g.input("data", tensor(DType::F32, [6u64, 5]));
            let i = g.input("indices", tensor(DType::I32, [4u64, 1]));
            g.output("y", g.gather_nd(g.transpose(x, &[]), i, 0));
        })
        .fill("indices", Fill::Range(-5, 5)),
        Sample::graph("constant indices", |g| {
            let x = g.input("data", tensor(DType::F32, [5u64, 3]));
            let i = g.constant(Tensor::new(&[4i64, -3, -5, 2], &[2, 2]).expect("two tuples"));
            g.output("y", g.gather_nd(x, i, 0));
        }),
    ]
}

/// Batches and tuples of symbolic number, of an axis of symbolic extent.
fn symbolic(n: u64) -> Sample {
    Sample::graph(&format!("symbolic, {n}"), |g| {
        let x = g.input("data", tensor(DType::F32, [sym("n", 1..=20), 5.into(), sym("m", 4..=9)]));
        let i = g.input("indices", tensor(DType::I32, [sym("n", 1..=20), sym("n", 1..=20), 2.into()]));
        g.output("y", g.gather_nd(x, i, 1));
    })
    .fill("indices", Fill::Range(-4, 4))
    .bind("n", n)
    .bind("m", 4 + n / 4)
}

fn extreme_indices() -> Vec<Sample> {
    let outside = |i: i64| !(-5..5).contains(&i);
    let mut samples = Vec::new();
    for d in [DType::F32, DType::F16, DType::I64] {
        let data = move |g: &GraphBuilder| g.param("data", tensor(d, [5u64, 3]));
        samples.extend(steering_samples(&format!("a row of {d}"), 5, outside, |g, i| {
            g.output("y", g.gather_nd(data(g), g.reshape(i, &[1]), 0));
        }));
        for index in [DType::I32, DType::I64] {
            let rows = |g: &GraphBuilder, i| g.output("y", g.gather_nd(data(g), i, 0));
            samples.push(steering_list(&format!("rows of {d}"), index, 5, &[7, 1], rows).expect_status());
        }
    }
    samples
}

/// Slices of dy added where they were read: by tuples that name the common axes, too.
fn rule(op: &GatherNd, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, tuples) = (cx.g, cx.x(1));
    let batch = op.batch_dims as usize;
    let shape = cx.shape(tuples);
    let dtype = cx.ty(tuples).dtype();
    let mut parts: Vec<Value> = Vec::with_capacity(batch + 1);
    for axis in 0..batch {
        let mut place = vec![DimExpr::constant(1); shape.len()];
        place[axis] = shape[axis].clone();
        let mut whole = shape.clone();
        whole[shape.len() - 1] = DimExpr::constant(1);
        let counted = g.range(0u64, shape[axis].clone(), 1, dtype);
        parts.push(g.expand_to(g.reshape_to(counted, place), whole));
    }
    parts.push(tuples);
    let tuples = if batch == 0 { tuples } else { g.concat(&parts, -1) };
    Ok(vec![Some(g.scatter_nd(cx.zeros(cx.x(0)), tuples, cx.dy(), ScatterReduction::Add))])
}

impl GraphBuilder {
    /// Slices picked by tuples of indices (ONNX GatherND): data\[b…, n₀, …, nₖ₋₁, c…\], indices i32 or i64
    /// \[b…, j…, k\] → \[b…, j…, c…\], with `batch_dims` axes b.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, ValueType, f32, i32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// // Pixels of an image by row and column.
    /// let (image, places) = (g.input("image", f32([32, 32, 3])), g.input("places", i32([100, 2])));
    /// g.output("y", g.gather_nd(image, places, 0));
    /// let graph = g.build()?;
    /// assert_eq!(graph.ty(graph.outputs()[0].value), &ValueType::fixed(DType::F32, &[100, 3]));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn gather_nd(&self, data: Value, indices: Value, batch_dims: u64) -> Value {
        self.apply(GatherNd { batch_dims }, &[data, indices])
    }
}
