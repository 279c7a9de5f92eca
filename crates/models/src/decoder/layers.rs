//! The layers of a decoder: values in, values out, with weights from wherever [`DecoderWeights`] says.

use super::DecoderConfig;
use super::weights::{DecoderWeights, WeightRole, weight};
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::rotary::Rotary;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DimExpr;

/// Keys and values that attention reads, and how many of them are valid.
pub(super) struct KeyValues {
    pub k: Value,
    pub v: Value,
    pub len: Option<Value>,
}

/// Token table, layers, last norm: i32[1, t] → f32[1, t, hidden]. `remember` gives what layer i attends to.
pub(super) fn decode(
    g: &GraphBuilder,
    c: &DecoderConfig,
    w: &dyn DecoderWeights,
    table: Value,
    ids: Value,
    position: Value,
    remember: impl Fn(u64, Value, Value) -> KeyValues,
) -> Value {
    let mut x = g.embedding(table, ids);
    for i in 0..c.layers {
        x = g.scoped(&format!("layer.{i}"), |g| {
            let h = norm(g, c, w, WeightRole::AttentionNorm(i), x);
            let a = attention(g, c, w, i, h, position, &remember);
            let o = weight(g, w, WeightRole::AttentionOutput(i), &[c.hidden, c.heads * c.head_width]);
            let x = g.add(x, g.linear(a, o, None));
            let h = norm(g, c, w, WeightRole::FeedNorm(i), x);
            g.add(x, feed_forward(g, c, w, i, h))
        });
    }
    norm(g, c, w, WeightRole::Norm, x)
}

fn norm(g: &GraphBuilder, c: &DecoderConfig, w: &dyn DecoderWeights, role: WeightRole, x: Value) -> Value {
    g.rms_norm(x, weight(g, w, role, &[c.hidden]), c.norm_eps)
}

/// (silu(x·Gᵀ) · x·Uᵀ)·Dᵀ.
fn feed_forward(g: &GraphBuilder, c: &DecoderConfig, w: &dyn DecoderWeights, i: u64, x: Value) -> Value {
    let product = |role, x, [out, into]: [u64; 2]| g.linear(x, weight(g, w, role, &[out, into]), None);
    let gate = g.silu(product(WeightRole::Gate(i), x, [c.intermediate, c.hidden]));
    let up = product(WeightRole::Up(i), x, [c.intermediate, c.hidden]);
    product(WeightRole::Down(i), g.mul(gate, up), [c.hidden, c.intermediate])
}

/// Causal attention with rotary positions and grouped heads: f32[1, t, hidden] → f32[1, t, heads·width].
fn attention(
    g: &GraphBuilder,
    c: &DecoderConfig,
    w: &dyn DecoderWeights,
    i: u64,
    x: Value,
    position: Value,
    remember: &impl Fn(u64, Value, Value) -> KeyValues,
) -> Value {
    let t = g.dim_of(x, 1);
    let heads = |role: WeightRole, heads: u64| {
        let y = g.linear(x, weight(g, w, role, &[heads * c.head_width, c.hidden]), None);
        let split = [1, heads as i64, c.head_width as i64].map(DimExpr::constant);
        let [one, heads, width] = split;
        g.reshape_to(y, vec![one, t.clone(), heads, width])
    };
    let q = rotate(g, c, heads(WeightRole::Query(i), c.heads), position);
    let k = rotate(g, c, heads(WeightRole::Key(i), c.kv_heads), position);
    let v = heads(WeightRole::Value(i), c.kv_heads);
    let KeyValues { k, v, len } = remember(i, k, v);
    let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
    let y = g.attention(q, k, v, None, len, op);
    g.reshape_to(y, vec![DimExpr::constant(1), t, DimExpr::constant((c.heads * c.head_width) as i64)])
}

fn rotate(g: &GraphBuilder, c: &DecoderConfig, x: Value, position: Value) -> Value {
    let op = Rotary {
        layout: AttentionLayout::Bshd,
        theta: c.theta,
        interleaved: c.interleaved,
        n_rot: (c.rotated != c.head_width).then_some(c.rotated as i64),
        ..Rotary::default()
    };
    g.rotary(x, position, op)
}

/// The token table as f32[vocab, hidden].
pub(super) fn table(g: &GraphBuilder, c: &DecoderConfig, w: &dyn DecoderWeights) -> Value {
    weight(g, w, WeightRole::Embedding, &[c.vocab, c.hidden])
}

/// x·Oᵀ with the output matrix O, which may be the token table: f32[n, hidden] → f32[n, vocab].
pub(super) fn logits(
    g: &GraphBuilder,
    c: &DecoderConfig,
    w: &dyn DecoderWeights,
    table: Value,
    x: Value,
) -> Value {
    let output = if c.tied { table } else { weight(g, w, WeightRole::Output, &[c.vocab, c.hidden]) };
    g.linear(x, output, None)
}

/// The index of the largest: f32[n, vocab] → i32 of that shape.
pub(super) fn choose(g: &GraphBuilder, logits: Value, shape: &[i64]) -> Value {
    g.reshape(g.arg_max_i32(logits, -1, false), shape)
}
