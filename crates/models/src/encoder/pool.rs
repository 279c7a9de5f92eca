//! Token vectors to one vector per text, by the tokens that the text has; then length 1 where asked.

use super::graph::Cx;
use crate::sentence::{Pooling, SentenceSpec};
use pumice_ir::Value;
use pumice_types::{DType, DimExpr, Tensor};

/// f32[batch, seq, hidden] → f32[batch, hidden].
pub(super) fn pool(cx: &Cx<'_>, spec: &SentenceSpec, x: Value) -> Value {
    let y = match spec.pooling {
        Pooling::Cls => first_token(cx, x),
        Pooling::Mean => mean(cx, spec, x),
        Pooling::Max => max(cx, spec, x),
    };
    if spec.normalize { normalize(cx, y) } else { y }
}

/// x[:, 0, :].
fn first_token(cx: &Cx<'_>, x: Value) -> Value {
    let first = cx.g.narrow(x, 1, 0, 1);
    cx.g.reshape_to(first, vec![cx.batch.clone(), DimExpr::constant(cx.config.hidden as i64)])
}

/// Σ over a row's tokens / their number; a row without tokens gives zeros.
fn mean(cx: &Cx<'_>, spec: &SentenceSpec, x: Value) -> Value {
    let g = cx.g;
    let kept = g.select(token_mask(cx, spec), x, g.constant_scalar(DType::F32, 0.0));
    let sum = g.reduce_sum(kept, &[1], false);
    let count = g.max(&[cx.lengths, g.constant_scalar(DType::I32, 1.0)]);
    let count = g.reshape_to(g.cast(count, DType::F32), vec![cx.batch.clone(), DimExpr::constant(1)]);
    g.div(sum, count)
}

/// The largest of each component over a row's tokens; a row without tokens gives −10⁹, as sentence-transformers does.
fn max(cx: &Cx<'_>, spec: &SentenceSpec, x: Value) -> Value {
    let g = cx.g;
    let kept = g.select(token_mask(cx, spec), x, g.constant_scalar(DType::F32, -1e9));
    g.reduce_max(kept, &[1], false)
}

/// Whether position < length: bool[batch, seq, 1].
fn token_mask(cx: &Cx<'_>, spec: &SentenceSpec) -> Value {
    let g = cx.g;
    // max_tokens is bounded by the position table, 2²⁴ rows at most.
    let all: Vec<i32> = (0..spec.max_tokens as i32).collect();
    let all = Tensor::new(&all, &[1, spec.max_tokens]).expect("as many positions as the shape says");
    let positions = g.narrow(g.constant(all), 1, 0, cx.seq.clone());
    let lengths = g.reshape_to(cx.lengths, vec![cx.batch.clone(), DimExpr::constant(1)]);
    let mask = g.less(positions, lengths);
    g.reshape_to(mask, vec![cx.batch.clone(), cx.seq.clone(), DimExpr::constant(1)])
}

/// y/max(‖y‖, 10⁻¹²), as torch's `normalize` does.
fn normalize(cx: &Cx<'_>, y: Value) -> Value {
    let g = cx.g;
    let norm = g.sqrt(g.reduce_sum(g.mul(y, y), &[-1], true));
    g.div(y, g.max(&[norm, g.constant_scalar(DType::F32, 1e-12)]))
}
