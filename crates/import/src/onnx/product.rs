//! Matrix products, and values of codes.

use super::call::{Call, one};
use super::{Results, Rule, rule};
use pumice_ir::ops::dequantize_linear::DequantizeLinear;
use pumice_ir::ops::gemm::Gemm;

pub(super) const RULES: &[Rule] = &[
    rule("MatMul", 1, matmul),
    rule("Gemm", 7, gemm),
    // Scales of blocks came with opset 21; before, what there was means the same.
    rule("DequantizeLinear", 10, dequantize_linear),
];

fn matmul(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.x(0)?, c.x(1)?);
    one(c.g.matmul(a, b))
}

fn gemm(c: &mut Call<'_>) -> Results {
    let (a, b, addend) = (c.x(0)?, c.x(1)?, c.opt(2));
    let op = Gemm {
        alpha: c.float("alpha", 1.0)?,
        beta: c.float("beta", 1.0)?,
        trans_a: c.flag("transA", false)?,
        trans_b: c.flag("transB", false)?,
    };
    one(c.g.gemm(a, b, addend, op))
}

fn dequantize_linear(c: &mut Call<'_>) -> Results {
    let (codes, scale, zero_point) = (c.x(0)?, c.x(1)?, c.opt(2));
    // 0 in TensorProto's numbers is no type: the result's is that of the scales.
    let output_dtype = if c.int("output_dtype", 0)? == 0 { None } else { c.opt_dtype("output_dtype")? };
    let op =
        DequantizeLinear { axis: c.int("axis", 1)?, block_size: c.whole("block_size", 0)?, output_dtype };
    one(c.g.dequantize_linear(codes, scale, zero_point, op))
}
