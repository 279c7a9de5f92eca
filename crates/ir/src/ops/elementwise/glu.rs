//! `Glu`: a value gated by an activation of another.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch};
use pumice_types::scalar::{Reg, ScalarBuilder};
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// The gate's activation.
    pub enum GluAct {
        /// x·sigmoid(αx): SwiGLU.
        Swish = "swish",
        /// Exact GELU: GeGLU.
        Gelu = "gelu",
        /// GELU by tanh.
        GeluTanh = "gelu_tanh",
        /// ReLU: ReGLU.
        Relu = "relu",
        /// Sigmoid: the first GLU.
        Sigmoid = "sigmoid",
    }
}

crate::attr_enum! {
    /// Where gate and value are.
    pub enum GluPacking {
        /// Two operands of one shape.
        Two = "two",
        /// One operand, gates first along the axis, values after them.
        Concat = "concat",
        /// One operand, gate and value alternating along the axis.
        Interleaved = "interleaved",
    }
}

crate::op! {
    /// y = act(A)·B, A the gate and B the value. With two operands an elementwise op; packed, defined by slices and the
    /// form with two.
    pub struct Glu {
        /// The gate's activation.
        act: GluAct = GluAct::Swish,
        /// α of Swish.
        alpha: f32 = 1.0 => FINITE,
        /// Where gate and value are.
        packing: GluPacking = GluPacking::Two,
        /// The axis of the packed operand.
        axis: i64 = -1,
        /// A is held to at most the limit, B between −limit and limit.
        limit: Option<f32> = None => NOT_NEGATIVE,
        /// The form (B + 1)·A·sigmoid(αA).
        oai: bool = false,
    }
}

impl Default for Glu {
    fn default() -> Glu {
        Glu { act: GluAct::Swish, alpha: 1.0, packing: GluPacking::Two, axis: -1, limit: None, oai: false }
    }
}

impl OpDef for Glu {
    const OPERANDS: &'static [&'static str] = &["gate", "value?"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        let gate = cx.ty(0)?;
        if self.oai && self.act != GluAct::Swish {
            let reason = "the form (B + 1)·A·sigmoid(αA) has the activation swish".into();
            return Err(AttrError::Value { name: "oai", reason }.into());
        }
        if self.packing == GluPacking::Two {
            cx.same_dtype(0, 1)?;
            cx.expect_rank(1, gate.rank())?;
            for (a, b) in gate.shape.iter().zip(cx.ty(1)?.shape.iter()) {
                cx.equal(a, b, "extents of gate and value")?;
            }
            return one(dtype, gate.shape.clone());
        }
        if cx.opt(1).is_some() {
            return Err(OpError::TooManyOperands { most: 1, given: 2 });
        }
        let axis = cx.axis(self.axis, gate.rank())?;
        let mut shape = gate.shape.to_vec();
        shape[axis] = shape[axis].exact_quotient(&DimExpr::constant(2)).ok_or_else(|| {
            OpError::Invalid(format!(
                "axis {axis} of {} does not split into two halves",
                cx.show(&gate.shape)
            ))
        })?;
        one(dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let acts = [GluAct::Swish, GluAct::Gelu, GluAct::GeluTanh, GluAct::Relu, GluAct::Sigmoid];
        let mut samples: Vec<Sample> = crate::ops::elementwise::samples::E0_SIZES
            .iter()
            .map(|&n| two(Glu::default(), DType::F32, &[n]))
            .collect();
        for act in acts {
            samples.extend(FLOATS.iter().map(|&d| two(Glu { act, ..Glu::default() }, d, &[7, 37])));
            for packing in [GluPacking::Concat, GluPacking::Interleaved] {
                samples.push(packed(Glu { act, packing, ..Glu::default() }, DType::F32, &[5, 74]));
            }
        }
        let base = Glu::default();
        samples.extend([
            two(Glu { alpha: 1.702, limit: Some(1.5), oai: true, ..base.clone() }, DType::F32, &[259]),
            two(Glu { limit: Some(0.75), ..base.clone() }, DType::F16, &[259]),
            two(Glu { alpha: 0.5, ..base.clone() }, DType::F32, &[]),
        ]);
        for packing in [GluPacking::Concat, GluPacking::Interleaved] {
            let base = Glu { packing, ..base.clone() };
            samples.extend([
                packed(Glu { axis: 0, ..base.clone() }, DType::F32, &[6, 7]),
                packed(Glu { axis: 1, ..base.clone() }, DType::F32, &[2, 8, 5]),
                packed(base.clone(), DType::BF16, &[3, 66]),
                packed(base.clone(), DType::F32, &[0, 4]),
                packed(base.clone(), DType::F32, &[4, 0]),
                packed(Glu { oai: true, alpha: 1.702, limit: Some(2.0), ..base }, DType::F32, &[3, 130]),
            ]);
        }
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, mut gate, mut value) = (cx.b, cx.arg(0)?, cx.arg(1)?);
        if let Some(limit) = self.limit {
            gate = b.min(b.f32(limit), gate);
            value = b.clamp(value, b.f32(-limit), b.f32(limit));
        }
        if self.oai {
            value = b.add(value, b.f32(1.0));
        }
        Some(b.mul(self.activation(b, gate), value))
    }

    fn is_elementwise(&self) -> bool {
        self.packing == GluPacking::Two
    }

    /// Gate and value in one operand: the form with two operands, of two slices.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        super::glu_packed::unpacked(self, graph, id)
    }
}

impl Glu {
    fn activation(&self, b: &ScalarBuilder, x: Reg) -> Reg {
        match self.act {
            GluAct::Swish => b.swish(x, self.alpha),
            GluAct::Gelu => b.gelu(x),
            GluAct::GeluTanh => b.gelu_tanh(x),
            GluAct::Relu => b.max(x, b.f32(0.0)),
            GluAct::Sigmoid => b.sigmoid(x),
        }
    }
}

fn two(op: Glu, dtype: DType, shape: &[u64]) -> Sample {
    Sample::graph(&format!("{dtype} {shape:?} {op:?}"), |g| {
        let a = g.input("gate", tensor(dtype, shape.iter().copied()));
        let b = g.input("value", tensor(dtype, shape.iter().copied()));
        g.output("y", g.apply(op.clone(), &[a, b]));
    })
    .fill("gate", Fill::Special)
    .fill("value", Fill::Any)
}

fn packed(op: Glu, dtype: DType, shape: &[u64]) -> Sample {
    Sample::graph(&format!("{dtype} {shape:?} {op:?}"), |g| {
        let x = g.input("x", tensor(dtype, shape.iter().copied()));
        g.output("y", g.apply(op.clone(), &[x]));
    })
    .fill("x", Fill::Any)
}

impl GraphBuilder {
    /// act(gate)·value: two float tensors of one type → that type.
    #[track_caller]
    pub fn glu(&self, gate: Value, value: Value, act: GluAct) -> Value {
        self.apply(Glu { act, ..Glu::default() }, &[gate, value])
    }

    /// act(gate)·value of gates and values packed along one axis: x\[…, 2n, …\] → \[…, n, …\].
    #[track_caller]
    pub fn glu_packed(&self, x: Value, act: GluAct, packing: GluPacking, axis: i64) -> Value {
        self.apply(Glu { act, packing, axis, ..Glu::default() }, &[x])
    }
}
