//! `ScatterNd`: slices of a tensor replaced, or reduced with, at tuples of indices.

use super::gather_nd::GatherNd;
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
use crate::shape::{ValueType, product, sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = data, then y\[t₀, …, tₖ₋₁, c…\] ∘= updates\[j…, c…\] with the tuple t = indices\[j…, :\] (ONNX ScatterND), ∘
    /// being the reduction. Several updates of one slice: with `Set` the last j in row-major order wins; sums are made
    /// in an order that is the same in every run. A negative index counts from the end; a tuple with one that is still
    /// outside is dropped and reports INDEX_OUT_OF_RANGE at run time, or is an error where the index is a
    /// constant. Into data of no elements nothing is written or reported.
    pub struct ScatterNd {
        /// What becomes of an element and its updates.
        reduction: ScatterReduction = ScatterReduction::Set,
    }
}

impl ScatterNd {
    /// How many axes of data a tuple indexes, for operands of these types.
    ///
    /// # Errors
    /// As [`GatherNd::axes`] without batch axes, which reads what this writes.
    pub fn tuple(&self, data: &ValueType, indices: &ValueType) -> Result<usize, OpError> {
        Ok(GatherNd { batch_dims: 0 }.axes(data, indices)?.tuple)
    }
}

impl OpDef for ScatterNd {
    const OPERANDS: &'static [&'static str] = &["data", "indices", "updates"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (data, indices, updates) = (cx.ty(0)?, expect_indices(cx, 1)?, cx.ty(2)?);
        let dtype = self.reduction.expect_dtype(cx, [0, 2])?;
        let tuple = self.tuple(data, indices)?;
        let places = &indices.shape[..indices.rank() - 1];
        cx.expect_rank(2, places.len() + data.rank() - tuple)?;
        let expected = places.iter().chain(&data.shape[tuple..]);
        for (given, expected) in updates.shape.iter().zip(expected) {
            cx.equal(given, expected, "extents of the updates")?;
        }
        check_constant(cx, 1, &data.shape[..tuple])?;
        one(dtype, data.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let (f, i32, i64, add) = (DType::F32, DType::I32, DType::I64, ScatterReduction::Add);
        let mut samples = reductions_of(|d, r| case(d, &[5, 6], i32, &[9, 1], r, Fill::Range(-5, 5)));
        samples.extend(
            DType::ALL.map(|d| case(d, &[4, 9], i64, &[5, 2], ScatterReduction::Set, Fill::Range(-4, 4))),
        );
        samples.extend(ScatterReduction::ALL.into_iter().flat_map(|r| {
            [
                case(f, &[7], i32, &[1], r, Fill::Constant(-1.0)),
                case(f, &[7, 33], i64, &[2], r, Fill::Range(-7, 7)),
                case(f, &[5, 4, 3], i32, &[3, 4, 2], r, Fill::Range(-4, 4)),
                case(f, &[3, 2], i32, &[300, 1], r, Fill::Range(0, 2)),
                case(f, &[3, 2], i32, &[0, 1], r, Fill::Any),
                case(f, &[7, 3], i32, &[3, 2], r, Fill::Ints(vec![0, 2, -7, -3, 6, 3])).expect_status(),
            ]
        }));
        samples.extend([
            case(f, &[2, 2, 3, 2, 2, 2, 3, 2], i32, &[9, 8], add, Fill::Range(-2, 2)),
            case(f, &[2, 2, 3, 2, 2, 2, 3, 2], i64, &[4, 1], add, Fill::Range(-2, 2)),
            case(f, &[7, 0], i32, &[4, 1], add, Fill::Range(0, 7)),
            case(f, &[2, 3], i32, &[2000, 1], add, Fill::Constant(1.0)),
            case(f, &[300, 65], i32, &[129, 1], add, Fill::Range(0, 300)),
            case(f, &[9, 9], i32, &[3000, 2], add, Fill::Range(0, 9)),
            case(f, &[700, 5], i32, &[9000, 1], add, Fill::Range(0, 700)),
            case(
                f,
                &[40, 3],
                i32,
                &[5000, 1],
                add,
                Fill::Ints((0..50).map(|i| if i % 3 == 0 { i % 40 } else { 7 }).collect()),
            ),
            case(f, &[1000, 1], i32, &[500, 1], add, Fill::Range(-1000, 1000)),
            case(f, &[3, 300], i64, &[400, 1], add, Fill::Range(0, 3)),
            case(f, &[7, 3], i32, &[3, 2], add, Fill::Ints(vec![6, 2, 7, 1, -8, -4])).expect_status(),
            case(f, &[7, 3], i64, &[5, 1], add, Fill::Ints(vec![1, i64::MAX, i64::MIN, (1 << 32) + 1, -1]))
                .expect_status(),
        ]);
        samples.extend([0, 6, 20].map(symbolic));
        samples.extend(extreme_indices());
        samples
    }

    fn moves_bits(&self) -> bool {
        self.reduction == ScatterReduction::Set
    }

    fn adds_onto(&self) -> Option<usize> {
        (self.reduction == ScatterReduction::Add).then_some(0)
    }

    /// Many updates are sorted first.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let data = graph.ty(node.input(0)?);
        let tuple = self.tuple(data, graph.ty(node.input(1)?)).ok()?;
        let op = ScatterPlaces { extents: data.shape.to_vec(), elements: false, axis: 0 };
        let (all, inner) = data.shape.split_at(tuple);
        super::scatter_sorted::expand(op, self.reduction, [product(all), product(inner)], graph, id)
    }
}

fn case(
    d: DType,
    data: &[u64],
    index: DType,
    idx: &[u64],
    reduction: ScatterReduction,
    fill: Fill,
) -> Sample {
    let label = format!("{d} {data:?} by {index} {idx:?} {reduction:?} {fill:?}");
    let (tuple, places) = idx.split_last().expect("a last axis");
    let updates: Vec<u64> = places.iter().chain(&data[*tuple as usize..]).copied().collect();
    let shapes = Shapes { data, indices: idx, updates: &updates };
    of_operands(&label, (d, index), shapes, reduction, |g, x, i, u| g.scatter_nd(x, i, u, reduction))
        .fill("indices", fill)
}

/// Tuples of symbolic number, of an axis of symbolic extent.
fn symbolic(n: u64) -> Sample {
    Sample::graph(&format!("symbolic, {n}"), |g| {
        let (n, m) = (sym("n", 0..=20), sym("m", 4..=9));
        let x = g.input("data", tensor(DType::F32, [m, 5.into(), 3.into()]));
        let i = g.input("indices", tensor(DType::I32, [n.clone(), 2.into()]));
        let u = g.input("updates", tensor(DType::F32, [n, 3.into()]));
        g.output("y", g.scatter_nd(x, i, u, ScatterReduction::Add));
    })
    .fill("indices", Fill::Range(-4, 4))
    .bind("n", n)
    .bind("m", 4 + n / 4)
}

fn extreme_indices() -> Vec<Sample> {
    let outside = |i: i64| !(-5..5).contains(&i);
    let mut samples = Vec::new();
    for (d, r) in [(DType::F32, ScatterReduction::Add), (DType::I64, ScatterReduction::Set)] {
        let build = move |g: &GraphBuilder, i: Value, places: &[u64]| {
            let x = g.param("data", tensor(d, [5u64, 3]));
            let updates = places.iter().copied().chain([3]);
            let u = g.input("updates", tensor(d, updates.collect::<Vec<u64>>()));
            g.output("y", g.scatter_nd(x, i, u, r));
        };
        samples.extend(steering_samples(&format!("a row of {d}"), 5, outside, |g, i| {
            build(g, g.reshape(i, &[1]), &[])
        }));
        for index in [DType::I32, DType::I64] {
            let rows = |g: &GraphBuilder, i| build(g, i, &[7]);
            samples.push(steering_list(&format!("rows of {d}"), index, 5, &[7, 1], rows).expect_status());
        }
    }
    samples
}

/// What the updates' way of counting says ([`Places`]).
fn rule(op: &ScatterNd, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, indices) = (cx.g, cx.x(1));
    let read = |x| g.gather_nd(x, indices, 0);
    let put = |data, updates, how| g.scatter_nd(data, indices, updates, how);
    Places { cx, read: &read, put: &put }.gradients(op.reduction)
}

impl GraphBuilder {
    /// Slices replaced, or reduced with, at tuples of indices (ONNX ScatterND): data\[n₀, …, nₖ₋₁, c…\], indices i32 or
    /// i64 \[j…, k\], updates \[j…, c…\] → data's type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, ValueType, f32, i32};
    /// # use pumice_types::DType;
    /// # use pumice_ir::ops::scatter::ScatterReduction;
    /// let g = GraphBuilder::new("g");
    /// // Votes for cells of a grid, each with a weight.
    /// let (grid, cells) = (g.input("grid", f32([32, 32])), g.input("cells", i32([100, 2])));
    /// g.output("y", g.scatter_nd(grid, cells, g.input("weights", f32([100])), ScatterReduction::Add));
    /// let graph = g.build()?;
    /// assert_eq!(graph.ty(graph.outputs()[0].value), &ValueType::fixed(DType::F32, &[32, 32]));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn scatter_nd(
        &self,
        data: Value,
        indices: Value,
        updates: Value,
        reduction: ScatterReduction,
    ) -> Value {
        self.apply(ScatterNd { reduction }, &[data, indices, updates])
    }
}
