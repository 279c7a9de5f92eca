//! Fused nodes other than elementwise ones, by the kind of kernel they are lowered to.

use super::LowerResult;
use crate::cx::LowerCx;
use pumice_ir::NodeId;
use pumice_ir::ops::Fused;

/// Lowers a fused node of that kind.
pub fn lower(kind: &str, op: &Fused, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    match kind {
        "norm" => super::norm::lower_body(cx, id, &op.body),
        "matmul" => super::matmul::lower_body(cx, id, &op.body),
        _ => Err(format!("there is no lowering for fused nodes of kind `{kind}`").into()),
    }
}
