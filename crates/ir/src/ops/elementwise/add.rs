//! `Add`: the sum of two tensors.

use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::{Fills, binary_case};
use crate::ops::{NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use pumice_types::DType::F32;
use pumice_types::DimExpr;

binary! {
    /// y = a + b with NumPy broadcasting (ONNX Add): two tensors of one dtype → that dtype. Integers wrap.
    Add add, NUMERIC, |b, x, y| b.add(x, y), Fill::Special, also large, duties {
        fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
            operands.iter().cloned().reduce(|a, b| a + b)
        }

        /// x + -0 == x == -0 + x: of the zeros only -0 is neutral, since -0 + 0 is 0. For integers x + 0 == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            let zero = if cx.graph.ty(cx.operand(0)?).dtype().is_float() { -0.0 } else { 0.0 };
            cx.beside_neutral(|v| cx.is_all(v, zero))
        }
    }
}

/// More than 65,535 groups of 256, one operand strided.
fn large() -> Vec<Sample> {
    let fills = Fills::from(Fill::Normal);
    let a: &[u64] = &[4099, 4101];
    vec![binary_case("many groups", (F32, a), (F32, &[4101, 4099]), &fills, &|g, x, y| {
        g.add(x, g.transpose(y, &[1, 0]))
    })]
}
