//! `MeanVarianceNormalization`: mean 0 and deviation 1 over any axes.

use super::channels::Steps;
use super::group_norm::not_finite;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::reduce::reduced_axes;
use crate::ops::{Affine, Div, Grad, GradCx, Grads, Max, Min, NoGrad, OpDef};
use crate::ops::{ReduceMax, ReduceMean, ReduceMin, Sqrt, Square, Sub};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

/// What the deviation is raised by.
const RAISED: f32 = 1e-9;

crate::op! {
    /// y = (x − μ)/(σ + 10⁻⁹) with mean and deviation over axes (ONNX MeanVarianceNormalization): x\[…\] → x's type.
    /// Empty `axes` are all of them. Statistics are f32, the variance from differences to the mean. Equal values become
    /// 0: their mean is none but themselves. NaN and infinities make all that share their statistics NaN.
    pub struct MeanVarianceNormalization {
        /// Over which mean and deviation are taken.
        axes: Vec<i64> = vec![0, 2, 3],
    }
}

impl Default for MeanVarianceNormalization {
    /// Of each channel of images.
    fn default() -> MeanVarianceNormalization {
        MeanVarianceNormalization { axes: vec![0, 2, 3] }
    }
}

impl OpDef for MeanVarianceNormalization {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        reduced_axes(&self.axes, false, cx.ty(0)?.rank())?;
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let shapes: [(&[u64], &[i64]); 10] = [
            (&[2, 3, 5, 7], &[0, 2, 3]),
            (&[2, 3, 5, 7], &[1]),
            (&[2, 3, 5, 7], &[]),
            (&[4, 37], &[-1]),
            (&[4, 37], &[0]),
            (&[0, 3, 2, 2], &[0, 2, 3]),
            (&[2, 3, 0, 2], &[1]),
            (&[3, 1], &[1]),
            (&[1, 2, 70, 71], &[0, 2, 3]),
            (&[66_000, 3], &[1]),
        ];
        let mut samples: Vec<Sample> =
            shapes.iter().map(|(shape, axes)| case(DType::F32, shape, axes)).collect();
        samples.extend(FLOATS.iter().map(|&d| case(d, &[2, 6, 5, 7], &[0, 2, 3])));
        let of = |label: &str, fill| {
            Sample { label: label.into(), ..case(DType::F32, &[4, 9, 5], &[0, 2]) }.fill("x", fill)
        };
        samples.extend([
            of("equal values", Fill::Constant(0.5)),
            equal_values(),
            of("NaN and infinities", not_finite(180)),
            of("far from 0", Fill::Uniform(9999.0, 10_001.0)),
        ]);
        samples.extend([(1, 2), (3, 9), (4, 12)].map(|(b, n)| {
            Sample::graph(&format!("symbols {b} x {n}"), |g| {
                let x = g.input("x", tensor(DType::F32, [sym("b", 1..=4), 3.into(), sym("n", 1..=12)]));
                let op = MeanVarianceNormalization { axes: vec![0, 2] };
                g.output("y", g.mean_variance_normalization(x, op));
            })
            .bind("b", b)
            .bind("n", n)
        }));
        samples
    }

    /// MeanVarianceNormalization(x) == Div(d, Affine(Sqrt(ReduceMean(Square(d))), 1, 10⁻⁹)), d == Sub(x,
    /// Min(Max(ReduceMean(x), ReduceMin(x)), ReduceMax(x)): in f32, with casts. A sum that was rounded may leave a mean
    /// outside the values, and of equal ones that would be the deviation itself.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let mut steps = Steps::new(graph, id);
        let x = steps.widened(node.input(0)?);
        let mean_of = ReduceMean { axes: self.axes.clone(), keepdims: true, noop_with_empty_axes: false };
        let mean = steps.add("mean", mean_of.clone(), &[x]);
        let (axes, keepdims, noop_with_empty_axes) = (self.axes.clone(), true, false);
        let least =
            steps.add("least", ReduceMin { axes: axes.clone(), keepdims, noop_with_empty_axes }, &[x]);
        let most = steps.add("most", ReduceMax { axes, keepdims, noop_with_empty_axes }, &[x]);
        let mean = steps.add("at_least", Max {}, &[mean, least]);
        let mean = steps.add("at_most", Min {}, &[mean, most]);
        let apart = steps.add("apart", Sub {}, &[x, mean]);
        let squares = steps.add("squares", Square {}, &[apart]);
        let variance = steps.add("variance", mean_of, &[squares]);
        let deviation = steps.add("deviation", Sqrt {}, &[variance]);
        let divisor = steps.add("divisor", Affine { mul: 1.0, add: RAISED }, &[deviation]);
        let y = steps.last(Div {}, &[apart, divisor]);
        let mut patch = steps.patch;
        patch.replace(node.output(), y);
        Some(patch)
    }
}

/// Groups of one number each, whose sums are no numbers of f32: exactly 0, which no tolerance hides.
fn equal_values() -> Sample {
    Sample::graph("equal values whose sums are rounded", |g| {
        let c = g.input("c", tensor(DType::F32, [1, 60, 1]));
        let x = g.add(c, g.input("zeros", tensor(DType::F32, [7, 60, 175])));
        let y = g.mean_variance_normalization(x, MeanVarianceNormalization { axes: vec![0, 2] });
        let zero = g.constant_scalar(DType::F32, 0.0);
        g.output("zero", g.reduce_all(g.equal(y, zero), &[0, 1, 2], false));
    })
    .fill("c", Fill::Uniform(0.1, 3.0))
    .fill("zeros", Fill::Constant(0.0))
}

fn case(d: DType, shape: &[u64], axes: &[i64]) -> Sample {
    Sample::graph(&format!("{d} {shape:?} over {axes:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.mean_variance_normalization(x, MeanVarianceNormalization { axes: axes.to_vec() }));
    })
}

fn rule(op: &MeanVarianceNormalization, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![cx.wanted(0, || of_x(op, cx))])
}

/// With d = x − μ and N = σ + 10⁻⁹: dx = (dy − mean dy − d/σ·mean(dy·d)/N)/N, where d/σ is 0 of equal values, whose
/// expansion would make the root's infinite slope of it.
fn of_x(op: &MeanVarianceNormalization, cx: &GradCx<'_>) -> Value {
    let g = cx.g;
    let mean = |v| g.reduce_mean(v, &op.axes, true);
    let [x, dy] = [cx.x(0), cx.dy()].map(|v| wide(g, v));
    let apart = about_mean(op, g, x);
    let [positive, divisor] = deviations(op, g, apart);
    let unit = g.div(apart, positive);
    let along = g.div(mean(g.mul(dy, apart)), divisor);
    let across = g.sub(g.sub(dy, mean(dy)), g.mul(unit, along));
    narrowed(cx, g.div(across, divisor), cx.x(0))
}

/// x − μ, where μ is none but among the values.
fn about_mean(op: &MeanVarianceNormalization, g: &GraphBuilder, x: Value) -> Value {
    let at_least = g.max(&[g.reduce_mean(x, &op.axes, true), g.reduce_min(x, &op.axes, true)]);
    g.sub(x, g.min(&[at_least, g.reduce_max(x, &op.axes, true)]))
}

/// By x − μ: σ, or 1 where it is 0, and σ + 10⁻⁹.
fn deviations(op: &MeanVarianceNormalization, g: &GraphBuilder, apart: Value) -> [Value; 2] {
    let [zero, one] = [0.0, 1.0].map(|v| g.constant_scalar(DType::F32, v));
    let variance = g.reduce_mean(g.square(apart), &op.axes, true);
    let is_zero = g.equal(variance, zero);
    let positive = g.sqrt(g.select(is_zero, one, variance));
    [positive, g.affine(g.select(is_zero, zero, positive), 1.0, RAISED)]
}

impl GraphBuilder {
    /// Mean 0 and deviation 1 over axes (ONNX MeanVarianceNormalization): x\[…\] → x's type.
    /// [`MeanVarianceNormalization`] says the formula.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::mean_variance_normalization::MeanVarianceNormalization;
    /// let g = GraphBuilder::new("g");
    /// let images = g.input("images", f32([8, 3, 32, 32]));
    /// g.output("y", g.mean_variance_normalization(images, MeanVarianceNormalization::default()));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn mean_variance_normalization(&self, x: Value, op: MeanVarianceNormalization) -> Value {
        self.apply(op, &[x])
    }
}
