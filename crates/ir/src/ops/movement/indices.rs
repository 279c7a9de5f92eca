//! What ops that take indices share: the dtypes of an index tensor, and constant indices that lie outside.

use crate::error::OpError;
use crate::infer::Infer;
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, Tensor};

/// The type of an operand that must hold indices.
pub(super) fn expect_indices<'a>(cx: &Infer<'a>, operand: usize) -> Result<&'a ValueType, OpError> {
    let ty = cx.ty(operand)?;
    if !matches!(ty.dtype(), DType::I32 | DType::I64) {
        return Err(OpError::IndexDType { operand: cx.name(operand), dtype: ty.dtype() });
    }
    Ok(ty)
}

/// Errors where a constant index is outside its axis: element p indexes axis `p % axes.len()` of these extents.
pub(super) fn check_constant(cx: &Infer<'_>, operand: usize, axes: &[DimExpr]) -> Result<(), OpError> {
    let Some(constant) = cx.constant(operand) else { return Ok(()) };
    for (position, value) in values(constant).into_iter().enumerate() {
        let Some(size) = axes.get(position % axes.len().max(1)).and_then(DimExpr::as_extent) else {
            continue;
        };
        let end = i64::try_from(size).unwrap_or(i64::MAX);
        if !(-end..end).contains(&value) {
            return Err(OpError::IndexOutOfRange { position: position as u64, value, size });
        }
    }
    Ok(())
}

fn values(indices: &Tensor) -> Vec<i64> {
    match indices.dtype() {
        DType::I32 => indices.to_vec::<i32>().unwrap_or_default().into_iter().map(i64::from).collect(),
        _ => indices.to_vec::<i64>().unwrap_or_default(),
    }
}
