//! Ops without a gradient: those that OPS 3.12 lists, and no others.

use super::SECTIONS;
use pumice_ir::Op;
use pumice_ir::ops::Differentiation;
use std::collections::BTreeSet;

/// Ops that say `No`, with the words of OPS 3.12 for them.
const UNDEFINED: &[(&str, &[&str])] = &[
    ("SelectiveScan, Mamba2, GatedDeltaNet", &["linear_recurrence"]),
    ("RNN family", &["recurrent_layer"]),
    ("Unique", &["unique_parts"]),
    ("NMS", &["non_max_suppression_parts"]),
    ("KvAppend, TensorScatter on a state", &["kv_append", "tensor_scatter"]),
    ("the states that they write", &["state_read", "state_write"]),
    ("run-time If", &["if"]),
    ("loops that are not unrolled", &["loop", "carry"]),
    ("quantizers", &["dequantize", "dequantize_linear"]),
    ("GroupedMatMul", &["grouped_matmul", "expert_rows"]),
    ("TopKMoeRouter", &["top_k_moe_router"]),
    ("CumProd", &["cum_prod"]),
    ("Sample", &["sample_sorted"]),
    ("Custom without one", &["custom"]),
];

/// Ops that passes make, after gradients are taken: nobody's graph has them.
const MADE_BY_PASSES: &[&str] = &[
    "attention_merge",
    "attention_parts",
    "fft_pass",
    "fused",
    "scan_runs",
    "scatter_partials",
    "scatter_sorted",
];

#[test]
fn are_those_of_the_specification() {
    let listed = UNDEFINED.iter().flat_map(|(_, ops)| ops.iter()).chain(MADE_BY_PASSES);
    let listed: BTreeSet<&str> = listed.copied().collect();
    let all = SECTIONS.iter().flat_map(|(_, ops)| ops.iter().copied());
    let refuses = |op: &&str| matches!(Op::differentiation_of(op), Some(Differentiation::No(_)));
    let refusing: BTreeSet<&str> = all.filter(refuses).collect();
    let (more, fewer): (Vec<_>, Vec<_>) =
        (refusing.difference(&listed).collect(), listed.difference(&refusing).collect());
    assert!(more.is_empty() && fewer.is_empty(), "without a rule: {more:?}; listed: {fewer:?}");
}
