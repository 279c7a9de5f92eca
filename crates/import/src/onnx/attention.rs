//! Attention and positions.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::Value;
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::rotary::Rotary;
use pumice_types::DType;

pub(super) const RULES: &[Rule] = &[rule("Attention", 23, attention), rule("RotaryEmbedding", 23, rotary)];

/// Places as I32; what is beyond them stays outside of every axis.
fn places(c: &Call<'_>, x: Value) -> Value {
    c.g.cast(c.g.clip(x, Some(f64::from(i32::MIN)), Some(f64::from(i32::MAX))), DType::I32)
}

/// x\[B, S, heads·width\] → \[B, heads, S, width\].
fn heads_first(c: &Call<'_>, x: Value, heads: i64) -> Result<Value, OnnxError> {
    Ok(c.g.transpose(c.heads_apart(x, heads)?, &[0, 2, 1, 3]))
}

/// Heads of rank-3 operands are packed; a past is put before the keys and values, which then are results, too.
fn attention(c: &mut Call<'_>) -> Results {
    let (query, mask, past, kv_len) = (c.x(0)?, mask(c)?, c.opt(4), c.opt(6));
    let kv_len = kv_len.map(|n| places(c, n));
    // Queries come after the past.
    let offset = past.map(|past| c.g.extent(past, 2));
    if c.wants(3) {
        return Err(c.unsupported("the scores as a result"));
    }
    let ([q, k, v], packed) = heads(c)?;
    let [k, v] = after_past(c, [k, v])?;
    let operands = AttentionOperands { mask, kv_len, offset, ..AttentionOperands::default() };
    let (y, _) = c.g.attention_with([q, k, v], operands, attributes(c)?);
    let y = if packed { c.heads_packed(c.g.transpose(y, &[0, 2, 1, 3]), query)? } else { y };
    Ok(vec![y, k, v])
}

/// A mask of one axis is one of keys.
fn mask(c: &mut Call<'_>) -> Result<Option<Value>, OnnxError> {
    let Some(mask) = c.opt(3) else { return Ok(None) };
    Ok(Some(if c.ty(mask)?.rank() == 1 { c.g.unsqueeze(mask, &[0]) } else { mask }))
}

/// q, k and v as \[B, heads, S, width\], and whether their heads were packed.
fn heads(c: &mut Call<'_>) -> Result<([Value; 3], bool), OnnxError> {
    let (q, k, v) = (c.x(0)?, c.x(1)?, c.x(2)?);
    let (heads, kv_heads) = (c.int("q_num_heads", 0)?, c.int("kv_num_heads", 0)?);
    if c.ty(q)?.rank() != 3 {
        return Ok(([q, k, v], false));
    }
    Ok(([heads_first(c, q, heads)?, heads_first(c, k, kv_heads)?, heads_first(c, v, kv_heads)?], true))
}

fn after_past(c: &mut Call<'_>, [k, v]: [Value; 2]) -> Result<[Value; 2], OnnxError> {
    match (c.opt(4), c.opt(5)) {
        (None, None) => Ok([k, v]),
        (Some(past_k), Some(past_v)) => Ok([c.g.concat(&[past_k, k], 2), c.g.concat(&[past_v, v], 2)]),
        _ => Err(c.unsupported("a past of keys or of values alone")),
    }
}

/// Soft-max is computed in f32, whatever 16-bit type `softmax_precision` names.
fn attributes(c: &mut Call<'_>) -> Result<Attention, OnnxError> {
    let softmax = c.opt_dtype("softmax_precision")?;
    if softmax.is_some_and(|dtype| !dtype.is_float()) {
        return Err(c.wrong("softmax_precision", "is no float"));
    }
    // It says what the scores are, which are no result.
    c.int("qk_matmul_output_mode", 0)?;
    Ok(Attention {
        layout: AttentionLayout::Bhsd,
        scale: c.opt_float("scale")?,
        causal: c.flag("is_causal", false)?,
        left: c.int("left_window_size", -1)?,
        right: c.int("right_window_size", -1)?,
        softcap: c.float("softcap", 0.0)?,
        ..Attention::default()
    })
}

/// x\[B, heads, S, width\], or with packed heads as \[B, S, heads·width\].
fn rotary(c: &mut Call<'_>) -> Results {
    let (x, cos, sin, pos) = (c.x(0)?, c.x(1)?, c.x(2)?, c.opt(3));
    let pos = pos.map(|p| places(c, p));
    let heads = c.opt_int_of("num_heads")?;
    let op = Rotary { layout: AttentionLayout::Bhsd, ..turns(c)? };
    if c.ty(x)?.rank() != 3 {
        return one(c.g.rotary_tables(x, cos, sin, pos, op));
    }
    let heads = heads.ok_or_else(|| c.wrong("num_heads", "is missing, x has three axes"))?;
    let op = Rotary { layout: AttentionLayout::Bshd, ..op };
    let y = c.g.rotary_tables(c.heads_apart(x, heads)?, cos, sin, pos, op);
    one(c.heads_packed(y, x)?)
}

fn turns(c: &mut Call<'_>) -> Result<Rotary, OnnxError> {
    let (interleaved, n_rot) = (c.flag("interleaved", false)?, c.int("rotary_embedding_dim", 0)?);
    Ok(Rotary { interleaved, n_rot: (n_rot != 0).then_some(n_rot), ..Rotary::default() })
}
