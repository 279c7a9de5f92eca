//! Attention: operands as strided batches of heads, the length from the frame or from memory, the kernel for the shape.

use super::{Lower, LowerResult};
use crate::cx::{LowerCx, float_storage, meaning_with_immediates};
use crate::draft::Located;
use crate::meaning::is_immediate;
use crate::step::StepBuilder;
use pumice_ir::ops::{Attention, attention::AttentionLayout};
use pumice_ir::{NodeId, ValueId};
use pumice_plan::Access;
use pumice_plan::kernel::{ArgValue, FloatStorage, KernelCall, Typed, UseIndex};
use pumice_plan::kernels::attention::{
    self, Attention as Tile, AttentionLanes as Lanes, AttentionSplit as Split, Choice, Extents, Form,
    UNBOUNDED, length, mask,
};
use pumice_types::{DType, DimExpr};

impl Lower for Attention {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let y = cx.result(node.output())?;
        if y.view.shape.iter().any(|d| d.is(0)) {
            return Ok(());
        }
        let operand = |i: usize| node.input(i).ok_or("it lacks an operand");
        let (q, k, v) = (operand(0)?, operand(1)?, operand(2)?);
        let q = heads(cx, q, self.layout, false)?;
        let k = heads(cx, k, self.layout, true)?;
        let v = heads(cx, v, self.layout, true)?;
        let y = Heads::of(&y, self.layout);
        let problem = Problem { op: self, q, k, v, y };
        problem.emit(cx, id)
    }
}

/// An operand seen as batches of heads of rows; the elements of a row are neighbours.
struct Heads {
    at: Located,
    /// Extents of batch, heads, rows, width.
    extents: [DimExpr; 4],
    /// Strides of batch, heads, rows.
    strides: [DimExpr; 3],
}

impl Heads {
    fn of(at: &Located, layout: AttentionLayout) -> Heads {
        let axes = layout.axes();
        let strides = [axes[0], axes[1], axes[2]].map(|a| at.view.strides[a].clone());
        Heads { extents: axes.map(|a| at.view.shape[a].clone()), strides, at: at.clone() }
    }

    /// Whether every row begins at a multiple of four elements and has a multiple of four.
    fn by_four(&self, cx: &LowerCx<'_>) -> bool {
        let by_four = |e: &DimExpr| e.is(0) || e.divisor(cx.graph.symbols()).is_multiple_of(4);
        let strides = self.strides.iter().zip(&self.extents).all(|(s, extent)| extent.is(1) || by_four(s));
        strides && by_four(&self.at.view.offset) && by_four(&self.extents[3])
    }

    /// Offset and strides as arguments.
    fn args(&self, cx: &mut LowerCx<'_>) -> [ArgValue; 4] {
        let [b, h, row] = &self.strides;
        [cx.arg(&self.at.view.offset), cx.arg(b), cx.arg(h), cx.arg(row)]
    }
}

/// An operand as it lies, copied only where the elements of a row are apart or the kernel cannot read its storage.
fn heads(cx: &mut LowerCx<'_>, v: ValueId, layout: AttentionLayout, typed: bool) -> LowerResult<Heads> {
    let at = cx.at(v)?;
    let readable = at.view.is_words() || (typed && float_storage(&at.view) != FloatStorage::F32);
    let together = at.view.strides[3].is(1) || at.view.shape[3].is(1);
    let at = if readable && together { at } else { cx.dense(v)? };
    Ok(Heads::of(&at, layout))
}

/// A mask as words over batch, heads, queries and keys.
struct Mask {
    at: Located,
    kind: u32,
    /// Strides over batch, heads, queries, keys.
    strides: [DimExpr; 4],
    keys: DimExpr,
}

fn mask_words(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<Mask> {
    let at = cx.at(v)?;
    let at = if at.view.is_words() { at } else { cx.dense(v)? };
    let view = &at.view;
    let missing = 4 - view.shape.len();
    let strides = std::array::from_fn(|axis| match axis.checked_sub(missing) {
        Some(i) if axis == 3 || !view.shape[i].is(1) => view.strides[i].clone(),
        _ => DimExpr::constant(0),
    });
    let kind = if view.dtype == DType::Bool { mask::BOOL } else { mask::FLOAT };
    let keys = view.shape.last().cloned().ok_or("its mask has rank 0")?;
    Ok(Mask { kind, strides, keys, at })
}

/// The length: where it is, and its expression if the frame knows it.
struct Length {
    at: Located,
    expr: Option<DimExpr>,
    per_batch: bool,
}

fn kv_length(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<Length> {
    let expr = cx.scalar_value(v);
    let per_batch = cx.graph.ty(v).rank() == 1;
    let at = if expr.is_some() { cx.at(v)? } else { cx.dense(v)? };
    Ok(Length { at, expr, per_batch })
}

struct Problem<'a> {
    op: &'a Attention,
    q: Heads,
    k: Heads,
    v: Heads,
    y: Heads,
}

/// The uses of a step, in the order of the kernel's operands.
struct Uses {
    q: UseIndex,
    k: UseIndex,
    v: UseIndex,
    mask: UseIndex,
    lens: UseIndex,
    y: UseIndex,
}

impl Problem<'_> {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        for x in [&self.q, &self.k, &self.v, &self.y] {
            cx.fits_u32(&pumice_ir::shape::product(&x.extents), "an operand")?;
        }
        let mask = node.input(3).map(|v| mask_words(cx, v)).transpose()?;
        let length = node.input(4).map(|v| kv_length(cx, v)).transpose()?;
        let mut step = StepBuilder::new();
        let mut read = |cx: &LowerCx<'_>, i: usize, at: &Located| {
            // A constant of one element is part of the meaning, not one of its inputs.
            let constant = node.input(i).and_then(|v| cx.graph.constant_data(v)).is_some_and(is_immediate);
            if constant { step.touch(at, Access::ShaderRead) } else { step.read(at) }
        };
        let q = read(cx, 0, &self.q.at);
        let k = read(cx, 1, &self.k.at);
        let v = read(cx, 2, &self.v.at);
        let mask_use = mask.as_ref().map_or(q, |m| read(cx, 3, &m.at));
        let lens = length.as_ref().map_or(q, |l| read(cx, 4, &l.at));
        let y = step.write(&self.y.at);
        step.flops(self.flops(cx));
        let lens = if length.as_ref().is_some_and(|l| l.expr.is_none()) { lens } else { q };
        let uses = Uses { q, k, v, mask: mask_use, lens, y };
        let [batch, heads, rows, _] = &self.y.extents;
        let choice = attention::choose(cx.target, &self.extents(cx, mask.is_some()));
        let tiles = rows.ceil_div(&choice.rows.into()) * self.y.extents[3].ceil_div(&choice.columns.into());
        let grid = cx.grid(&(tiles * heads.clone() * batch.clone()))?;
        let call = self.call(cx, choice, uses, mask.as_ref(), length.as_ref())?;
        let meaning = meaning_with_immediates(cx, id)?;
        step.dispatch(cx, call, grid, meaning);
        Ok(())
    }

    /// Upper bounds.
    fn extents(&self, cx: &LowerCx<'_>, masked: bool) -> Extents {
        let up = |d: &DimExpr| d.upper(cx.graph.symbols());
        let [batch, heads, queries, _] = &self.y.extents;
        let heads = up(batch).saturating_mul(up(heads));
        let (d, dv) = (up(&self.k.extents[3]), up(&self.v.extents[3]));
        Extents { d, dv, queries: up(queries), heads, keys: up(&self.k.extents[2]), masked }
    }

    /// Two products over all pairs of queries and keys.
    fn flops(&self, cx: &LowerCx<'_>) -> u64 {
        let symbols = cx.graph.symbols();
        let up = |d: &DimExpr| d.upper(symbols);
        let pairs = self.y.extents[..3].iter().fold(up(&self.k.extents[2]), |f, d| f.saturating_mul(up(d)));
        let width = up(&self.k.extents[3]).saturating_add(up(&self.v.extents[3]));
        pairs.saturating_mul(width).saturating_mul(2)
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        choice: Choice,
        uses: Uses,
        mask: Option<&Mask>,
        length: Option<&Length>,
    ) -> LowerResult<KernelCall> {
        let op = self.op;
        let [batch, heads, rows, width] = &self.q.extents;
        let group =
            heads.exact_quotient(&self.k.extents[1]).ok_or("query heads do not share key heads evenly")?;
        let vec = [&self.q, &self.k, &self.v, &self.y].into_iter().enumerate();
        let vec = vec.fold(0, |bits, (i, x)| bits | u32::from(x.by_four(cx)) << i);
        let fills = |d: &DimExpr| u32::from(d.divisor(cx.graph.symbols()).is_multiple_of(choice.columns));
        let vec = vec | fills(width) << 4 | fills(&self.v.extents[3]) << 5;
        let typed = |at, x: &Heads| Typed { at, storage: float_storage(&x.at.view) };
        let scale = match (op.scale, width.as_const()) {
            (Some(scale), _) => scale,
            (None, Some(d)) => (1.0 / (d as f64).sqrt()) as f32,
            (None, None) => return Err("it has a symbolic width and no scale".into()),
        };
        let window = |n: i64| if n < 0 { UNBOUNDED } else { n.min(i64::from(i32::MAX)) as i32 };
        let right = if op.causal { 0 } else { window(op.right) };
        let [q_at, q_b, q_h, q_row] = self.q.args(cx);
        let [k_at, k_b, k_h, k_row] = self.k.args(cx);
        let [v_at, v_b, v_h, v_row] = self.v.args(cx);
        let [_, y_b, y_h, y_row] = self.y.args(cx);
        let zero = || [ArgValue::ZERO; 6];
        let [mask_at, mask_b, mask_h, mask_row, mask_col, mask_len] = mask.map_or_else(zero, |m| {
            let [b, h, row, col] = &m.strides;
            [&m.at.view.offset, b, h, row, col, &m.keys].map(|e| cx.arg(e))
        });
        let expr = length.and_then(|l| l.expr.as_ref());
        macro_rules! fill {
            ($Kernel:ident) => {
                $Kernel {
                    variant: choice.variant,
                    vec,
                    mask_kind: mask.map_or(mask::NONE, |m| m.kind),
                    length: match length {
                        None => length::NONE,
                        Some(_) if expr.is_some() => length::ARG,
                        Some(_) => length::OPERAND,
                    },
                    capped: u32::from(op.softcap > 0.0),
                    batches: cx.arg(batch),
                    hq: cx.arg(heads),
                    group: cx.arg(&group),
                    sq: cx.arg(rows),
                    sk: cx.arg(&self.k.extents[2]),
                    d: cx.arg(width),
                    dv: cx.arg(&self.v.extents[3]),
                    q_at,
                    q_b,
                    q_h,
                    q_row,
                    k_at,
                    k_b,
                    k_h,
                    k_row,
                    v_at,
                    v_b,
                    v_h,
                    v_row,
                    y_b,
                    y_h,
                    y_row,
                    mask_at,
                    mask_b,
                    mask_h,
                    mask_row,
                    mask_col,
                    mask_len,
                    scale: ArgValue::f32(scale),
                    softcap: ArgValue::f32(op.softcap),
                    left: ArgValue::i32(window(op.left)),
                    right: ArgValue::i32(right),
                    kv_len: expr.map_or(ArgValue::ZERO, |e| cx.arg(e)),
                    len_b: ArgValue::U32(length.map_or(0, |l| u32::from(l.per_batch))),
                    q: uses.q,
                    k: typed(uses.k, &self.k),
                    v: typed(uses.v, &self.v),
                    mask: uses.mask,
                    lens: uses.lens,
                    y: uses.y,
                    slots: Vec::new(),
                    holes: crate::rows::rounding(self.y.at.view.dtype, "epilogue")?,
                }
                .into_call()
            };
        }
        Ok(match choice.form {
            Form::Tile => fill!(Tile),
            Form::Lanes => fill!(Lanes),
            Form::Split => fill!(Split),
        })
    }
}
