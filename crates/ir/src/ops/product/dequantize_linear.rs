//! `DequantizeLinear`: the values of codes whose scales are another tensor.

use super::dequantize_linear_samples;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{ValueType, product};
use pumice_types::{Code, DType, DimExpr, Encoding};

crate::op! {
    /// y = (q − z)·s, of ONNX DequantizeLinear: the difference in integers, the product in f32, rounded to the dtype
    /// of the result.
    ///
    /// q is i8, u8, i16 or i32, or a param of codes (i4, u4, f8e4m3fn, f8e5m2, f4e2m1); scales are f32, f16, bf16 or
    /// a param f8e8m0. Zero points are of q's type and the scales' shape; i32 and codes of floats have none. Scales
    /// of one element are those of the whole tensor; a vector is along `axis`; with `block_size` b scales have q's
    /// shape, but for `axis`, along which element i is scaled by ⌊i/b⌋ of ⌈n/b⌉. NaN and infinite scales give what
    /// the product gives.
    ///
    /// A product whose weight is such a value of params reads codes and scales where they lie: then it is no step and
    /// no copy.
    pub struct DequantizeLinear {
        /// The axis along which scales differ.
        axis: i64 = 1,
        /// Elements along the axis that share a scale; 0 where a scale is the tensor's, or one element's of the axis.
        block_size: u64 = 0 => ANY,
        /// The dtype of the result; none is the scales' (of f8e8m0, f32).
        output_dtype: Option<DType> = None,
    }
}

impl Default for DequantizeLinear {
    /// Scales of the whole tensor or of axis 1.
    fn default() -> DequantizeLinear {
        DequantizeLinear { axis: 1, block_size: 0, output_dtype: None }
    }
}

/// Which scale element i of the codes has: with i = (o·extent + a)·inner + c it is o·steps\[0\] +
/// ⌊a/block⌋·steps\[1\] + c·steps\[2\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePlaces {
    /// Elements after the axis.
    pub inner: DimExpr,
    /// Elements along the axis.
    pub extent: DimExpr,
    /// Elements along the axis that share a scale.
    pub block: DimExpr,
    /// Distances of scales: before the axis, along it, after it.
    pub steps: [DimExpr; 3],
}

impl DequantizeLinear {
    /// Which scales the elements of codes of this shape have.
    ///
    /// # Errors
    /// An axis that the shape does not have.
    pub fn places(&self, q: &[DimExpr], scale: &[DimExpr]) -> Result<ScalePlaces, OpError> {
        let [zero, one] = [0, 1].map(DimExpr::constant);
        if is_one(scale) && self.block_size == 0 {
            let steps = [zero.clone(), zero.clone(), zero];
            return Ok(ScalePlaces { inner: one.clone(), extent: one.clone(), block: one, steps });
        }
        let axis = crate::infer::normalize_axis(self.axis, q.len())?;
        let (inner, extent) = (product(&q[axis + 1..]), q[axis].clone());
        if self.block_size == 0 {
            return Ok(ScalePlaces { inner, extent, block: one.clone(), steps: [zero.clone(), one, zero] });
        }
        let block = DimExpr::from(self.block_size);
        let steps = [&extent.ceil_div(&block) * &inner, inner.clone(), one];
        Ok(ScalePlaces { inner, extent, block, steps })
    }

    fn check_zero(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let (q, scale) = (cx.ty(0)?, cx.ty(1)?);
        let Some(zero) = cx.opt(2) else { return Ok(()) };
        let has_zero = match q.encoding {
            Encoding::Codes(code) => code.is_int(),
            _ => q.dtype() != DType::I32,
        };
        if !has_zero {
            return Err(OpError::Invalid(format!("{} has no zero point", q.encoding)));
        }
        if zero.encoding != q.encoding {
            let (zero, q) = (zero.encoding, q.encoding);
            return Err(OpError::Invalid(format!(
                "its zero point is {zero}, which must be {q} as its codes are"
            )));
        }
        same_shape(cx, &zero.shape, &scale.shape, "the zero point and the scale")
    }

    fn check_scale(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let (q, scale) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
        if self.block_size == 0 && is_one(scale) {
            return Ok(());
        }
        let axis = cx.axis(self.axis, q.len())?;
        if self.block_size == 0 {
            cx.expect_rank(1, 1)?;
            return cx.equal(&scale[0], &q[axis], "the scale and the axis of `q`");
        }
        let mut shape = q.to_vec();
        shape[axis] = q[axis].ceil_div(&self.block_size.into());
        same_shape(cx, scale, &shape, "the scale and the blocks of `q`")
    }
}

/// Whether a scale is the whole tensor's.
fn is_one(scale: &[DimExpr]) -> bool {
    scale.is_empty() || scale.len() == 1 && scale[0].is(1)
}

fn same_shape(cx: &Infer<'_>, a: &[DimExpr], b: &[DimExpr], what: &str) -> Result<(), OpError> {
    if a.len() != b.len() {
        return Err(OpError::Invalid(format!("{what}: {} is not {}", cx.show(a), cx.show(b))));
    }
    a.iter().zip(b).enumerate().try_for_each(|(i, (a, b))| cx.equal(a, b, &format!("{what}, axis {i}")))
}

fn unlike(cx: &Infer<'_>, operand: usize, ty: &ValueType, expected: &str) -> OpError {
    match ty.encoding.plain() {
        Some(dtype) => {
            OpError::DType { operand: cx.name(operand), dtype, expected: format!("expected {expected}") }
        }
        None => OpError::Invalid(format!(
            "operand `{}` is {}; expected {expected}",
            cx.name(operand),
            ty.encoding
        )),
    }
}

impl OpDef for DequantizeLinear {
    const OPERANDS: &'static [&'static str] = &["q", "scale", "zero_point?"];
    const GRAD: Grad<Self> = Grad::No("its operand is codes");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (q, scale) = (cx.ty(0)?, cx.ty(1)?);
        match q.encoding {
            Encoding::Codes(code) if code != Code::F8E8M0 => {}
            Encoding::Plain(DType::I8 | DType::U8 | DType::I16 | DType::I32) => {}
            _ => return Err(unlike(cx, 0, q, "i8, u8, i16, i32, i4, u4, f8e4m3fn, f8e5m2, f4e2m1")),
        }
        match scale.encoding {
            Encoding::Codes(Code::F8E8M0) => {}
            Encoding::Plain(dtype) if dtype.is_float() => {}
            _ => return Err(unlike(cx, 1, scale, "f32, f16, bf16, f8e8m0")),
        }
        self.check_scale(cx)?;
        self.check_zero(cx)?;
        let dtype = self.output_dtype.unwrap_or(scale.dtype());
        if !FLOATS.contains(&dtype) {
            let name = "output_dtype";
            let reason = format!("it is {dtype}, expected f32, f16, bf16");
            return Err(crate::attr::AttrError::Value { name, reason }.into());
        }
        one(dtype, q.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        dequantize_linear_samples::samples()
    }

    fn handles_blocks(&self) -> bool {
        true
    }

    fn is_scaling(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// The values of codes: (q − zero_point)·scale, q\[…\] → the scales' dtype\[…\], or
    /// [`output_dtype`](DequantizeLinear::output_dtype). Scales are one, a vector along an axis, or one for each block
    /// along it.
    #[track_caller]
    pub fn dequantize_linear(
        &self,
        q: Value,
        scale: Value,
        zero_point: Option<Value>,
        op: DequantizeLinear,
    ) -> Value {
        self.apply_all(op, &[Some(q), Some(scale), zero_point])[0]
    }

    /// The same by elements that are f32 already, whose scales and zero points have constant extents: what steps mean
    /// that read codes.
    #[track_caller]
    pub fn scaled_elements(
        &self,
        op: &DequantizeLinear,
        [q, scale]: [Value; 2],
        zero: Option<Value>,
        dtype: DType,
    ) -> Value {
        let Some(ty) = self.type_of(q) else { return q };
        let wide = |v: Value| self.spread(op, self.cast(v, DType::F32), &ty.shape);
        let q = self.cast(q, DType::F32);
        let difference = zero.map_or(q, |z| self.sub(q, wide(z)));
        self.cast(self.mul(difference, wide(scale)), dtype)
    }

    /// Scales that broadcast to this shape.
    #[track_caller]
    fn spread(&self, op: &DequantizeLinear, scale: Value, shape: &[DimExpr]) -> Value {
        let Some(ty) = self.type_of(scale) else { return scale };
        let axis = crate::infer::normalize_axis(op.axis, shape.len()).unwrap_or(0);
        if is_one(&ty.shape) && op.block_size == 0 {
            return self.reshape_to(scale, Vec::new());
        }
        let mut column = vec![DimExpr::constant(1); shape.len()];
        if op.block_size == 0 {
            column[axis] = shape[axis].clone();
            return self.reshape_to(scale, column);
        }
        self.spread_blocks(scale, (&ty.shape[axis], op.block_size.into()), (shape, axis))
    }

    /// Scales of blocks along an axis, each as often as its block has elements.
    #[track_caller]
    fn spread_blocks(
        &self,
        scale: Value,
        (blocks, block): (&DimExpr, DimExpr),
        (shape, axis): (&[DimExpr], usize),
    ) -> Value {
        let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
        let of = |along: [DimExpr; 2]| {
            let [blocks, each] = along;
            vec![outer.clone(), blocks, each, inner.clone()]
        };
        let apart = self.reshape_to(scale, of([blocks.clone(), 1.into()]));
        let stretched = self.expand_to(apart, of([blocks.clone(), block.clone()]));
        let along = self.reshape_to(stretched, of([blocks * &block, 1.into()]));
        self.reshape_to(self.narrow(along, 1, 0u64, shape[axis].clone()), shape.to_vec())
    }
}
