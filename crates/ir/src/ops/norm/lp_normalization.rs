//! `LpNormalization`: rows brought to length 1.

use super::channels::Steps;
use crate::builder::{GraphBuilder, Value, scalar_tensor};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis};
use crate::ops::elementwise::FLOATS;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{
    Abs, Clip, Constant, Div, Grad, GradCx, Grads, NoGrad, OpDef, ReduceMax, ReduceSum, Sqrt, Square,
};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;
use std::sync::Arc;

crate::attr_enum! {
    /// What the length of a row is.
    pub enum LengthNorm {
        /// Σ|x|.
        L1 = "l1",
        /// √Σx².
        L2 = "l2",
    }
}

crate::op! {
    /// y = x / max(‖x‖, 2⁻¹²⁶) along an axis (ONNX LpNormalization, `L2Norm`): x\[…\] → x's type. A row of zeros stays
    /// zeros. Rows are divided by their largest |x| first, so that nothing overflows or vanishes on the way. NaN makes
    /// its row NaN; beside an infinity finite elements become 0 and infinite ones NaN. Computed in f32.
    pub struct LpNormalization {
        /// Along which rows lie.
        axis: i64 = -1,
        /// What their length is.
        p: LengthNorm = LengthNorm::L2,
    }
}

impl Default for LpNormalization {
    fn default() -> LpNormalization {
        LpNormalization { axis: -1, p: LengthNorm::L2 }
    }
}

impl OpDef for LpNormalization {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        normalize_axis(self.axis, cx.ty(0)?.rank())?;
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let shapes: [(&[u64], i64); 9] = [
            (&[7], 0),
            (&[3, 1], -1),
            (&[0, 5], 1),
            (&[5, 0], -1),
            (&[4, 37], -1),
            (&[4, 37], 0),
            (&[2, 3, 65], 1),
            (&[1, 1_025], -1),
            (&[66_000, 3], 1),
        ];
        let mut samples = Vec::new();
        for p in LengthNorm::ALL {
            samples.extend(shapes.map(|(shape, axis)| case(DType::F32, shape, LpNormalization { axis, p })));
            samples.extend(FLOATS.iter().map(|&d| case(d, &[5, 33], LpNormalization { axis: -1, p })));
            let of = |what: &str, fill| {
                let sample = case(DType::F32, &[6, 7], LpNormalization { axis: 1, p });
                Sample { label: format!("{what} {p:?}"), ..sample }.fill("x", fill)
            };
            samples.extend([
                of("zeros", Fill::Constant(0.0)),
                of("squares beyond f32", Fill::Uniform(1e30, 3e38)),
                of("squares below f32", Fill::Uniform(1e-36, 1e-30)),
                of("NaN and infinities", super::group_norm::not_finite(42)),
            ]);
            samples.extend([(0, 1), (3, 9), (4, 12)].map(|(b, n)| {
                Sample::graph(&format!("symbols {b} x {n} {p:?}"), |g| {
                    let x = g.input("x", tensor(DType::F32, [sym("b", 0..=4), sym("n", 1..=12)]));
                    g.output(
                        "y",
                        g.lp_normalization(g.transpose(x, &[1, 0]), LpNormalization { axis: 0, p }),
                    );
                })
                .bind("b", b)
                .bind("n", n)
            }));
        }
        samples
    }

    /// LpNormalization(x) == Div(s, Clip(‖s‖, 1, ∞)), s == Div(x, Clip(ReduceMax(Abs(x)), 2⁻¹²⁶, largest)): the
    /// largest |s| is 1, so that ‖s‖ is at least 1 unless |x| < 2⁻¹²⁶ in the whole row.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let mut steps = Steps::new(graph, id);
        let x = steps.widened(node.input(0)?);
        let axes = vec![self.axis];
        let sizes = steps.add("sizes", Abs {}, &[x]);
        let most = ReduceMax { axes: axes.clone(), keepdims: true, noop_with_empty_axes: false };
        let most = steps.add("most", most, &[sizes]);
        let [least, largest, one] =
            [f32::MIN_POSITIVE, f32::MAX, 1.0].map(|v| number(&mut steps, f64::from(v)));
        let most = steps.add("unit", Clip {}, &[most, least, largest]);
        let scaled = steps.add("scaled", Div {}, &[x, most]);
        let terms = match self.p {
            LengthNorm::L1 => steps.add("terms", Abs {}, &[scaled]),
            LengthNorm::L2 => steps.add("terms", Square {}, &[scaled]),
        };
        let sum = steps.add("sum", ReduceSum { axes, keepdims: true, noop_with_empty_axes: false }, &[terms]);
        let length = match self.p {
            LengthNorm::L1 => sum,
            LengthNorm::L2 => steps.add("length", Sqrt {}, &[sum]),
        };
        let length = steps.add("divisor", Clip {}, &[length, one]);
        let y = steps.last(Div {}, &[scaled, length]);
        let mut patch = steps.patch;
        patch.replace(node.output(), y);
        Some(patch)
    }
}

fn number(steps: &mut Steps<'_>, value: f64) -> PatchRef {
    steps.add("number", Constant { data: Arc::new(scalar_tensor(DType::F32, value)) }, &[])
}

fn case(d: DType, shape: &[u64], op: LpNormalization) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {op:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.lp_normalization(x, op));
    })
}

fn rule(op: &LpNormalization, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![cx.wanted(0, || of_x(op, cx))])
}

/// With ‖x‖ = m·l, m the row's largest |x| and l ≥ 1: dx = (dy − d·Σ dy·y)/l/m, d = y, or sign(x) of L1; 0 where the
/// whole row is 0. That |x| below 2⁻¹²⁶ are not brought to length 1 is left out.
fn of_x(op: &LpNormalization, cx: &GradCx<'_>) -> Value {
    let g = cx.g;
    let [x, dy] = [cx.x(0), cx.dy()].map(|v| wide(g, v));
    let [most, unit] = largest(op, g, x);
    let scaled = g.div(x, unit);
    let length = scaled_length(op, g, scaled);
    let across = across(op, g, [x, dy], g.div(scaled, length));
    let zero = g.constant_scalar(DType::F32, 0.0);
    let whole = g.select(g.equal(most, zero), zero, g.div(g.div(across, length), unit));
    narrowed(cx, whole, cx.x(0))
}

/// The largest |x| of rows, and the numbers m that rows are divided by: it, held to normal numbers.
fn largest(op: &LpNormalization, g: &GraphBuilder, x: Value) -> [Value; 2] {
    let most = g.reduce_max(g.abs(x), &[op.axis], true);
    [most, g.clip(most, Some(f64::from(f32::MIN_POSITIVE)), Some(f64::from(f32::MAX)))]
}

/// l of rows that were divided by m.
fn scaled_length(op: &LpNormalization, g: &GraphBuilder, scaled: Value) -> Value {
    let sum = |terms| g.clip(g.reduce_sum(terms, &[op.axis], true), Some(1.0), None);
    match op.p {
        LengthNorm::L1 => sum(g.abs(scaled)),
        LengthNorm::L2 => g.sqrt(sum(g.square(scaled))),
    }
}

/// dy − d·Σ dy·y.
fn across(op: &LpNormalization, g: &GraphBuilder, [x, dy]: [Value; 2], y: Value) -> Value {
    let along = g.reduce_sum(g.mul(dy, y), &[op.axis], true);
    let direction = if op.p == LengthNorm::L1 { g.sign(x) } else { y };
    g.sub(dy, g.mul(direction, along))
}

impl GraphBuilder {
    /// Rows brought to length 1 (ONNX LpNormalization): x\[…\] → x's type; rows of zeros stay zeros.
    /// [`LpNormalization`] says the formula.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::lp_normalization::LpNormalization;
    /// let g = GraphBuilder::new("g");
    /// let embeddings = g.input("embeddings", f32([16, 384]));
    /// g.output("unit", g.lp_normalization(embeddings, LpNormalization::default()));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn lp_normalization(&self, x: Value, op: LpNormalization) -> Value {
        self.apply(op, &[x])
    }
}
