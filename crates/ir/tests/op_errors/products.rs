//! What is refused of products that are made of others, and of products by experts.

use super::mistake;
use pumice_ir::ops::GroupedMatMul;
use pumice_ir::ops::dot_general::DotGeneral;
use pumice_ir::ops::gemm::Gemm;
use pumice_ir::ops::lora_matmul::LoraMatMul;
use pumice_ir::{GraphBuilder, OpError, Value, f16, f32, i32, sym, tensor};
use pumice_types::DType;

fn adapter(g: &GraphBuilder, a: [u64; 2], b: [u64; 2], alpha: f32) -> Value {
    let (x, w) = (g.input("x", f32([3, 8])), g.param("w", f32([5, 8])));
    g.lora_matmul(x, w, g.param("a", f32(a)), g.param("b", f32(b)), LoraMatMul { alpha })
}

fn by_experts(g: &GraphBuilder, x: [u64; 2], w: &[u64], id: &[u64]) -> Value {
    let w = g.param("w", f32(w.iter().copied()));
    g.grouped_matmul(
        g.input("x", f32(x)),
        w,
        g.input("id", i32(id.iter().copied())),
        GroupedMatMul::default(),
    )
}

refuses! {
    a_product_of_unlike_terms: |g| g.gemm(g.input("a", f32([2, 3])), g.input("b", f32([4, 5])), None, Gemm::default())
        => OpError::ExtentMismatch { .. },
    a_third_matrix_that_stretches_the_product: |g| g.gemm(g.input("a", f32([1, 3])), g.input("b", f32([3, 5])), Some(g.input("c", f32([2, 5]))), Gemm::default())
        => OpError::BroadcastMismatch { .. },
    a_product_of_vectors: |g| g.gemm(g.input("a", f32([3])), g.input("b", f32([3, 5])), None, Gemm::default())
        => OpError::Rank { .. },
    a_factor_that_is_no_number: |g| g.gemm(g.input("a", f32([2, 3])), g.input("b", f32([3, 5])), None, Gemm { alpha: f32::NAN, ..Gemm::default() })
        => OpError::Attr(_),
    axes_without_others: |g| g.dot_general(g.input("a", f32([2, 3])), g.input("b", f32([3, 5])), DotGeneral { lhs_contracting: vec![1], ..DotGeneral::default() })
        => OpError::Attr(_),
    an_axis_of_two_kinds: |g| g.dot_general(g.input("a", f32([2, 3])), g.input("b", f32([2, 3])), DotGeneral { lhs_batch: vec![0], rhs_batch: vec![0], lhs_contracting: vec![-2], rhs_contracting: vec![1] })
        => OpError::DuplicateAxis(_),
    axes_of_unlike_extents: |g| g.dot_general(g.input("a", f32([2, 3])), g.input("b", f32([2, 3])), DotGeneral { lhs_contracting: vec![1], rhs_contracting: vec![0], ..DotGeneral::default() })
        => OpError::ExtentMismatch { .. },
    an_adapter_of_two_ranks: |g| adapter(g, [2, 8], [5, 3], 1.0) => OpError::ExtentMismatch { .. },
    an_adapter_of_infinite_weight: |g| adapter(g, [2, 8], [5, 2], f32::INFINITY) => OpError::Attr(_),
    an_adapter_of_any_rank: |g| {
        let (x, w) = (g.input("x", f32([3, 8])), g.param("w", f32([5, 8])));
        let a = g.input("a", tensor(DType::F32, [sym("r", 1..=4), 8.into()]));
        let b = g.input("b", tensor(DType::F32, [5.into(), sym("r", 1..=4)]));
        g.lora_matmul(x, w, a, b, LoraMatMul::default())
    } => OpError::ExtentUnsupported { .. },
    experts_of_other_terms: |g| by_experts(g, [4, 3], &[2, 5, 6], &[4]) => OpError::ExtentMismatch { .. },
    an_expert_that_is_a_vector: |g| by_experts(g, [4, 3], &[2, 3], &[4]) => OpError::Rank { .. },
    ids_of_other_rows: |g| by_experts(g, [4, 3], &[2, 3, 6], &[5]) => OpError::ExtentMismatch { .. },
    ids_of_three_axes: |g| by_experts(g, [4, 3], &[2, 3, 6], &[4, 1, 1]) => OpError::Rank { .. },
    experts_in_another_dtype: |g| g.grouped_matmul(g.input("x", f32([4, 3])), g.param("w", f16([2, 3, 6])), g.input("id", i32([4])), GroupedMatMul::default())
        => OpError::DTypeMismatch { .. },
    ids_that_are_floats: |g| g.grouped_matmul(g.input("x", f32([4, 3])), g.param("w", f32([2, 3, 6])), g.input("id", f32([4])), GroupedMatMul::default())
        => OpError::DType { .. },
    experts_of_a_row_that_symbols_decide: |g| {
        let (x, w) = (g.input("x", f32([4, 3])), g.param("w", f32([2, 3, 6])));
        let id = g.input("id", tensor(DType::I32, [4.into(), sym("k", 1..=2)]));
        g.grouped_matmul(x, w, id, GroupedMatMul::default())
    } => OpError::ExtentUnsupported { .. },
    rows_of_no_experts: |g| g.expert_rows(g.input("id", i32([4])), 0) => OpError::Attr(_),
    rows_of_too_few_numbers: |g| {
        let (x, w, id) = (g.input("x", f32([4, 3])), g.param("w", f32([2, 3, 6])), g.input("id", i32([4])));
        g.apply(GroupedMatMul::default(), &[x, w, id, g.input("rows", i32([6]))])
    } => OpError::ExtentMismatch { .. },
}
