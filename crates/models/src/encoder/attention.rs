//! Multi-head self-attention over the tokens that a row has.

use super::graph::Cx;
use super::names::LayerNames;
use pumice_ir::Value;
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_types::DimExpr;

/// softmax(QKᵀ/√d)·V per head, keys after a row's length left out: f32[batch, seq, hidden] → the same.
pub(super) fn self_attention(cx: &Cx<'_>, names: &LayerNames, x: Value) -> Value {
    let (g, c) = (cx.g, cx.config);
    let constant = |n: u64| DimExpr::constant(n as i64);
    let heads = |name: &str| {
        let y = cx.linear(name, x, c.hidden, c.hidden);
        let split = vec![cx.batch.clone(), cx.seq.clone(), constant(c.heads), constant(c.head_width())];
        g.reshape_to(y, split)
    };
    let (q, k, v) = (heads(&names.query), heads(&names.key), heads(&names.value));
    let op = Attention { layout: AttentionLayout::Bshd, ..Attention::default() };
    let y = g.attention(q, k, v, None, Some(cx.lengths), op);
    g.reshape_to(y, vec![cx.batch.clone(), cx.seq.clone(), constant(c.hidden)])
}
