//! Tensors seen as [outer, n, inner] around a range of axes, and rounding as a hole.

use crate::cx::{LowerResult, Refusal};
use pumice_ir::shape::product;
use pumice_plan::kernel::{HoleFill, HoleInput};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, DimExpr};
use std::ops::Range;

/// A dense tensor collapsed around some adjacent axes.
pub struct Rows {
    /// Elements before the axes.
    pub outer: DimExpr,
    /// Elements of the axes.
    pub n: DimExpr,
    /// Elements after the axes.
    pub inner: DimExpr,
}

impl Rows {
    /// Collapses a shape around the axes.
    pub fn of(shape: &[DimExpr], axes: Range<usize>) -> Rows {
        Rows {
            outer: product(&shape[..axes.start]),
            n: product(&shape[axes.clone()]),
            inner: product(&shape[axes.end..]),
        }
    }
}

/// The fill that rounds a kernel's f32 result to a 16-bit float; none for f32.
pub fn rounding(dtype: DType, hole: &'static str) -> LowerResult<Vec<HoleFill>> {
    if dtype == DType::F32 {
        return Ok(Vec::new());
    }
    let expr = ScalarExpr::unary(RegType::F32, |b, x| b.narrow(x, dtype))
        .map_err(|e| Refusal(format!("rounding to {dtype}: {e}")))?;
    let inputs = vec![HoleInput::Value(0)];
    Ok(vec![HoleFill {
        hole: hole.into(),
        expr,
        inputs: inputs.into(),
        result: Some(0),
        stores: Default::default(),
    }])
}
