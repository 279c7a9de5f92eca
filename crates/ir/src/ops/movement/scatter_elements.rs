//! `ScatterElements`: elements of a tensor replaced, or reduced with, one by one along an axis.

use super::indices::{check_constant, expect_indices};
use super::scatter::ScatterReduction;
use super::scatter_places::ScatterPlaces;
use super::scatter_samples::{Shapes, of_operands, reductions_of};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::movement::scatter_grad::Places;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{product, sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = data, then y\[i₀, …, indices\[i₀, …, iₐ, …\], …\] ∘= updates\[i₀, …, iₐ, …\] along one axis (ONNX
    /// ScatterElements), ∘ being the reduction. Indices and updates have one shape, of data's rank, whose extents off
    /// the axis are data's or less. Several updates of one element: with `Set` the last in row-major order wins; sums
    /// are made in an order that is the same in every run. A negative index counts from the end; one that is still
    /// outside is dropped and reports INDEX_OUT_OF_RANGE at run time, or is an error where the index is a
    /// constant. Into data of no elements nothing is written or reported.
    pub struct ScatterElements {
        /// The axis of data.
        axis: i64 = 0,
        /// What becomes of an element and its updates.
        reduction: ScatterReduction = ScatterReduction::Set,
    }
}

impl OpDef for ScatterElements {
    const OPERANDS: &'static [&'static str] = &["data", "indices", "updates"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (data, indices, updates) = (cx.ty(0)?, expect_indices(cx, 1)?, cx.ty(2)?);
        let dtype = self.reduction.expect_dtype(cx, [0, 2])?;
        let axis = cx.axis(self.axis, data.rank())?;
        cx.expect_rank(1, data.rank())?;
        cx.expect_rank(2, data.rank())?;
        for (a, (own, of_data)) in indices.shape.iter().zip(data.shape.iter()).enumerate() {
            cx.equal(own, &updates.shape[a], "extents of indices and updates")?;
            if a != axis {
                cx.at_most(own, of_data, "extent of the indices off the axis")?;
            }
        }
        check_constant(cx, 1, &data.shape[axis..=axis])?;
        one(dtype, data.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let (f, i32, i64, add) = (DType::F32, DType::I32, DType::I64, ScatterReduction::Add);
        let mut samples = reductions_of(|d, r| case(d, &[5, 6], i32, &[9, 6], (0, r), Fill::Range(-5, 5)));
        let set = |d| case(d, &[4, 9], i64, &[3, 5], (1, ScatterReduction::Set), Fill::Range(-9, 9));
        samples.extend(DType::ALL.map(set));
        samples.extend(ScatterReduction::ALL.into_iter().flat_map(|r| {
            [
                case(f, &[7], i32, &[5], (0, r), Fill::Range(-7, 7)),
                case(f, &[5, 7, 3], i64, &[2, 9, 3], (1, r), Fill::Range(-7, 7)),
                case(f, &[5, 4, 3], i32, &[5, 3, 2], (-2, r), Fill::Range(-4, 4)),
                case(f, &[3, 2], i32, &[3, 300], (1, r), Fill::Range(0, 2)),
                case(f, &[3, 2], i32, &[3, 0], (1, r), Fill::Any),
                case(
                    f,
                    &[7, 3],
                    i32,
                    &[2, 3],
                    (0, r),
                    Fill::Ints(vec![0, 7, -8, 6, -7, i64::from(i32::MAX)]),
                )
                .expect_status(),
            ]
        }));
        samples.extend([
            case(f, &[1, 2, 1, 3, 2, 5, 2, 2], i64, &[1, 2, 1, 3, 2, 4, 1, 2], (5, add), Fill::Range(-5, 5)),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 3], i32, &[1, 2, 2, 1, 2, 1, 2, 5], (7, add), Fill::Range(-3, 3)),
            case(f, &[5, 7, 3], i32, &[0, 4, 3], (1, add), Fill::Any),
            case(f, &[5, 0], i32, &[3, 0], (0, add), Fill::Range(0, 5)),
            case(f, &[3, 2], i32, &[2000, 2], (0, add), Fill::Constant(1.0)),
            case(f, &[300, 65], i32, &[129, 65], (0, add), Fill::Range(0, 300)),
            case(f, &[3, 5], i32, &[3, 3000], (1, add), Fill::Range(0, 5)),
            case(
                f,
                &[3, 7],
                i64,
                &[3, 2],
                (1, add),
                Fill::Ints(vec![1, i64::MAX, i64::MIN, (1 << 32) + 1, -1, 6]),
            )
            .expect_status(),
        ]);
        samples.extend([(0, 4, 0), (6, 9, 3), (9, 4, 9), (9, 20, 1)].map(symbolic));
        samples.extend(extreme_indices());
        samples
    }

    fn moves_bits(&self) -> bool {
        self.reduction == ScatterReduction::Set
    }

    /// Many updates are sorted first.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let extents = graph.ty(graph.node(id).input(0)?).shape.to_vec();
        let all = product(&extents);
        let op = ScatterPlaces { extents, elements: true, axis: self.axis };
        super::scatter_sorted::expand(op, self.reduction, [all, 1.into()], graph, id)
    }
}

fn case(
    d: DType,
    data: &[u64],
    index: DType,
    idx: &[u64],
    (axis, reduction): (i64, ScatterReduction),
    fill: Fill,
) -> Sample {
    let label = format!("{d} {data:?} by {index} {idx:?} along {axis} {reduction:?} {fill:?}");
    let shapes = Shapes { data, indices: idx, updates: idx };
    of_operands(&label, (d, index), shapes, reduction, |g, x, i, u| {
        g.scatter_elements(x, i, u, axis, reduction)
    })
    .fill("indices", fill)
}

/// Rows of symbolic number with updates for some of them, along an axis of symbolic extent.
fn symbolic((rows, n, m): (u64, u64, u64)) -> Sample {
    Sample::graph(&format!("symbolic, {m} of {rows} rows, an axis of {n}"), |g| {
        let x = g.input("data", tensor(DType::F32, [sym("rows", 0..=9), sym("n", 4..=20)]));
        let i = g.input("indices", tensor(DType::I32, [sym("m", 0..=9), 5.into()]));
        let u = g.input("updates", tensor(DType::F32, [sym("m", 0..=9), 5.into()]));
        g.output("y", g.scatter_elements(x, i, u, 1, ScatterReduction::Add));
    })
    .fill("indices", Fill::Range(-4, 4))
    .bind("rows", rows)
    .bind("n", n)
    .bind("m", m)
}

fn extreme_indices() -> Vec<Sample> {
    let outside = |i: i64| !(-5..5).contains(&i);
    let mut samples = Vec::new();
    for (d, r) in [(DType::F32, ScatterReduction::Add), (DType::I64, ScatterReduction::Set)] {
        let build = move |g: &GraphBuilder, i: Value, data: &[u64], shape: &[u64]| {
            let x = g.param("data", tensor(d, data.iter().copied()));
            let u = g.input("updates", tensor(d, shape.iter().copied()));
            g.output("y", g.scatter_elements(x, i, u, -1, r));
        };
        let one = |g: &GraphBuilder, i| build(g, g.reshape(i, &[1]), &[5], &[1]);
        samples.extend(steering_samples(&format!("an element of {d}"), 5, outside, one));
        for index in [DType::I32, DType::I64] {
            let line = |g: &GraphBuilder, i| build(g, i, &[3, 5], &[1, 7]);
            samples.push(steering_list(&format!("elements of {d}"), index, 5, &[1, 7], line).expect_status());
        }
    }
    samples
}

/// What the updates' way of counting says ([`Places`]).
fn rule(op: &ScatterElements, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, indices) = (cx.g, cx.x(1));
    let read = |x| g.gather_elements(x, indices, op.axis);
    let put = |data, updates, how| g.scatter_elements(data, indices, updates, op.axis, how);
    Places { cx, read: &read, put: &put }.gradients(op.reduction)
}

impl GraphBuilder {
    /// Elements replaced, or reduced with, one by one along an axis (ONNX ScatterElements): data\[a…, n, c…\], indices
    /// i32 or i64 and updates \[a'…, j, c'…\] with a' ≤ a and c' ≤ c → data's type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, ValueType, f32, i32};
    /// # use pumice_types::DType;
    /// # use pumice_ir::ops::scatter::ScatterReduction;
    /// let g = GraphBuilder::new("g");
    /// // Logits of tokens that were used are lowered.
    /// let (logits, used) = (g.input("logits", f32([2, 100])), g.input("used", i32([2, 7])));
    /// let penalties = g.input("penalties", f32([2, 7]));
    /// g.output("y", g.scatter_elements(logits, used, penalties, 1, ScatterReduction::Add));
    /// let graph = g.build()?;
    /// assert_eq!(graph.ty(graph.outputs()[0].value), &ValueType::fixed(DType::F32, &[2, 100]));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn scatter_elements(
        &self,
        data: Value,
        indices: Value,
        updates: Value,
        axis: i64,
        reduction: ScatterReduction,
    ) -> Value {
        self.apply(ScatterElements { axis, reduction }, &[data, indices, updates])
    }
}
