//! Rotary position embedding.

use super::{Lower, LowerResult};
use crate::cx::{LowerCx, node_meaning};
use crate::draft::Located;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::{Rotary, attention::AttentionLayout};
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::rotary::{Rotary as Kernel, position, source};
use pumice_types::DimExpr;

/// Batch, sequence, heads of a view in that layout, as (extent, stride).
fn axes(at: &Located, layout: AttentionLayout) -> [(DimExpr, DimExpr); 3] {
    let axis = |i: usize| (at.view.shape[i].clone(), at.view.strides[i].clone());
    match layout {
        AttentionLayout::Bhsd => [axis(0), axis(2), axis(1)],
        AttentionLayout::Bshd => [axis(0), axis(1), axis(2)],
    }
}

impl Lower for Rotary {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let v = node.input(0).ok_or("it has no operand")?;
        let at = cx.at(v)?;
        let readable = at.view.is_words() && at.view.strides[3].is(1);
        let x = if readable { at } else { cx.dense(v)? };
        let y = cx.result(node.output())?;
        if y.view.shape.iter().any(|d| d.is(0)) {
            return Ok(());
        }
        let width = cx.graph.ty(v).shape[3].as_extent().ok_or("the head dimension is symbolic")?;
        let n_rot = self.rotated(width).map_err(|e| e.to_string())?;
        emit(self, cx, id, &x, &y, n_rot)
    }
}

fn emit(op: &Rotary, cx: &mut LowerCx<'_>, id: NodeId, x: &Located, y: &Located, n_rot: u64) -> LowerResult {
    let node = cx.graph.node(id);
    let (pos, cos, sin) = (node.input(1), node.input(2), node.input(3));
    let [batch, seq, heads] = axes(x, op.layout);
    let [y_batch, y_seq, y_head] = axes(y, op.layout);
    let width = x.view.shape[3].clone();
    let mut step = StepBuilder::new();
    let xi = step.read(x);
    let base = match pos {
        Some(p) => cx.scalar_value(p),
        None => None,
    };
    let positions = match pos {
        Some(p) if base.is_none() => Some(cx.dense(p)?),
        _ => None,
    };
    let position_use = match (&positions, pos) {
        (Some(at), _) => step.read(at),
        (None, Some(p)) => {
            let at = cx.at(p)?;
            step.read(&at)
        }
        (None, None) => xi,
    };
    let tables = match (cos, sin) {
        (Some(c), Some(s)) => Some((cx.dense(c)?, cx.dense(s)?)),
        _ => None,
    };
    let turns = match &tables {
        Some(_) => None,
        None => Some(turns_table(cx, op, n_rot)?),
    };
    let (cos_use, sin_use) = match (&tables, &turns) {
        (Some((c, s)), _) => (step.read(c), step.read(s)),
        (None, Some(t)) => (step.touch(t, pumice_plan::Access::ShaderRead), xi),
        (None, None) => (xi, xi),
    };
    let yi = step.write(y);
    let by_position = tables.is_some() && pos.is_some();
    let number = cx.status_number();
    let status = if by_position { step.status(cx, number) } else { step.status_unused(cx) };
    let table = tables.as_ref().map(|(c, _)| c.view.clone());
    let rank = table.as_ref().map_or(0, |t| t.shape.len());
    let zero = DimExpr::constant(0);
    let rows = table.as_ref().map_or(zero.clone(), |t| t.shape[rank - 2].clone());
    // Rows of the table where positions pick them, the distance of batches in it where they do not.
    let table = if by_position || rank == 3 { rows } else { zero.clone() };
    let per_batch = positions.as_ref().is_some_and(|p| p.view.shape.len() == 2);
    let pos_batch = if per_batch { seq.0.clone() } else { zero };
    let pos_kind = match &positions {
        None => position::BASE,
        Some(_) => position::I32,
    };
    let call = Kernel {
        variant: Kernel::plain,
        interleaved: u32::from(op.interleaved),
        source: match (&tables, by_position) {
            (None, _) => source::COMPUTED,
            (Some(_), true) => source::TABLE_BY_POSITION,
            (Some(_), false) => source::TABLE_BY_ROW,
        },
        position: pos_kind,
        dim: width.as_extent().and_then(|d| u32::try_from(d).ok()).ok_or("the head dimension is symbolic")?,
        n_rot: n_rot as u32,
        per_row: u32::from(per_batch),
        batch: cx.arg(&batch.0),
        seq: cx.arg(&seq.0),
        heads: cx.arg(&heads.0),
        x_offset: cx.arg(&x.view.offset),
        x_batch: cx.arg(&batch.1),
        x_seq: cx.arg(&seq.1),
        x_head: cx.arg(&heads.1),
        y_batch: cx.arg(&y_batch.1),
        y_seq: cx.arg(&y_seq.1),
        y_head: cx.arg(&y_head.1),
        base: base.as_ref().map_or(ArgValue::ZERO, |e| cx.arg(e)),
        pos_batch: cx.arg(&pos_batch),
        table: cx.arg(&table),
        attn: ArgValue::f32(1.0),
        op: ArgValue::U32(number),
        x: xi,
        cos: cos_use,
        sin: sin_use,
        // A position that an argument tells is not read from where it lies.
        positions: if positions.is_some() { position_use } else { xi },
        y: yi,
        status,
        slots: Vec::new(),
        holes: crate::rows::rounding(y.view.dtype, "epilogue")?,
    };
    let pairs = width - DimExpr::constant((n_rot / 2) as i64);
    let grid = cx.grid(&(batch.0 * seq.0 * heads.0 * pairs).ceil_div(&DimExpr::constant(256)))?;
    let meaning = node_meaning(cx, id)?;
    step.dispatch(cx, call.into_call(), grid, meaning);
    Ok(())
}

/// round(2⁶⁴ · θ^(−2i/n_rot) · freq_scale / 2π) mod 2⁶⁴ for every pair, low word first.
fn turns_table(cx: &mut LowerCx<'_>, op: &Rotary, n_rot: u64) -> LowerResult<Located> {
    let words: Vec<u32> = (0..n_rot / 2)
        .flat_map(|i| {
            let exponent = -2.0 * i as f64 / n_rot as f64;
            let turns = f64::from(op.theta).powf(exponent) * f64::from(op.freq_scale) / std::f64::consts::TAU;
            let fraction = turns - turns.floor();
            // 2⁶⁴ · fraction in two halves: an f64 has 53 bits, the rest are zeros.
            let bits = (fraction * 2f64.powi(64)) as u64;
            [bits as u32, (bits >> 32) as u32]
        })
        .collect();
    let data = pumice_types::Tensor::new(&words, &[words.len() as u64]).map_err(|e| e.to_string())?;
    cx.hidden_constant("rotary_turns", data)
}
