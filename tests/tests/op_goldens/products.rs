//! Cases of `goldens_products.py`: products that are made of others, products by experts.

use pumice_ir::ops::GroupedMatMul;
use pumice_ir::ops::dot_general::DotGeneral;
use pumice_ir::ops::gemm::Gemm;
use pumice_ir::ops::lora_matmul::LoraMatMul;
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::Golden;
use serde_json::Value as Json;

/// What a value counts as at least, of which results may differ by a share: terms of the sums are of about that size.
pub(super) fn floor(op: &str) -> Option<f64> {
    ["Gemm", "dot_general", "lora_matmul", "grouped_matmul"].contains(&op).then_some(3.0)
}

/// The result, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Value> {
    let number = |name: &str| case.attributes.get(name).and_then(Json::as_f64).expect("a number") as f32;
    let axes = |name: &str| -> Vec<i64> {
        let axes = case.attributes.get(name).and_then(Json::as_array).expect("axes");
        axes.iter().map(|axis| axis.as_i64().expect("an axis")).collect()
    };
    Some(match case.op.as_str() {
        "Gemm" => {
            let (trans_a, trans_b) = (case.flag("transA"), case.flag("transB"));
            let op = Gemm { alpha: number("alpha"), beta: number("beta"), trans_a, trans_b };
            g.gemm(x[0], x[1], x.get(2).copied(), op)
        }
        "dot_general" => {
            let [lhs_batch, rhs_batch] = ["lhs_batch", "rhs_batch"].map(axes);
            let [lhs_contracting, rhs_contracting] = ["lhs_contracting", "rhs_contracting"].map(axes);
            g.dot_general(x[0], x[1], DotGeneral { lhs_batch, rhs_batch, lhs_contracting, rhs_contracting })
        }
        "lora_matmul" => g.lora_matmul(x[0], x[1], x[2], x[3], LoraMatMul { alpha: number("alpha") }),
        "grouped_matmul" => {
            g.apply(GroupedMatMul { trans: case.flag("trans"), ..GroupedMatMul::default() }, x)
        }
        _ => return None,
    })
}
