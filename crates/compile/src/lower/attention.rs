//! Attention: operands as strided batches of heads, the length from the frame or from memory, the kernel for the shape.

use super::attention_extended::Extension;
use super::{Lower, LowerResult};
use crate::cx::{LowerCx, meaning_with_literals};
use crate::select::attention::Extents;
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use crate::{cost, product};
use pumice_ir::ops::{Attention, AttentionParts, attention::AttentionLayout};
use pumice_ir::{NodeId, ValueId};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, FloatStorage, Roles};
use pumice_plan::kernels::attention::{Attention as Kernel, UNBOUNDED, length, mask};
use pumice_types::{DType, DimExpr};

impl Lower for Attention {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        attend(cx, id, self, None)
    }
}

impl Lower for AttentionParts {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let parts = u32::try_from(self.parts).map_err(|_| format!("{} parts", self.parts))?;
        attend(cx, id, &self.whole(), Some(parts))
    }
}

/// An attention, or its parts.
fn attend(cx: &mut LowerCx<'_>, id: NodeId, op: &Attention, parts: Option<u32>) -> LowerResult {
    let node = cx.graph.node(id);
    let y = cx.result(node.output())?;
    let extension = Extension::of(cx, node, op)?;
    if y.is_empty() && extension.as_ref().is_none_or(Extension::makes_nothing) {
        return Ok(());
    }
    let operand = |i: usize| node.input(i).ok_or("it lacks an operand");
    let (q, k, v) = (operand(0)?, operand(1)?, operand(2)?);
    let q = heads(cx, q, op.layout, false)?;
    let k = heads(cx, k, op.layout, true)?;
    let v = heads(cx, v, op.layout, true)?;
    let mut y = Heads::of(&y, if parts.is_some() { AttentionLayout::Bhsd } else { op.layout });
    y.extents[3] = v.extents[3].clone();
    let mask = node.input(3).map(|v| mask_words(cx, v)).transpose()?;
    let length = node.input(4).map(|v| count(cx, v)).transpose()?;
    if parts.is_some() && extension.is_some() {
        return Err("parts of an attention have neither sinks nor slopes, places or sums".into());
    }
    Problem { op, parts, q, k, v, y, mask, length, extension }.emit(cx, id)
}

/// An operand seen as batches of heads of rows; the elements of a row are neighbours.
pub(super) struct Heads {
    pub(super) at: PlacedView,
    /// Extents of batch, heads, rows, width.
    pub(super) extents: [DimExpr; 4],
    /// Strides of batch, heads, rows.
    pub(super) strides: [DimExpr; 3],
}

impl Heads {
    pub(super) fn of(at: &PlacedView, layout: AttentionLayout) -> Heads {
        let axes = layout.axes();
        let strides = [axes[0], axes[1], axes[2]].map(|a| at.view.strides[a].clone());
        Heads { extents: axes.map(|a| at.view.shape[a].clone()), strides, at: at.clone() }
    }

    /// Whether every row begins at a multiple of four elements and has a multiple of four.
    pub(super) fn by_four(&self, cx: &LowerCx<'_>) -> bool {
        let mut strides = self.strides.iter().zip(&self.extents);
        let strides = strides.all(|(s, extent)| extent.is(1) || cx.by_four(s));
        strides && cx.by_four(&self.at.view.offset) && cx.by_four(&self.extents[3])
    }
}

/// An operand as it lies, copied only where the elements of a row are apart or the kernel cannot read its storage.
pub(super) fn heads(
    cx: &mut LowerCx<'_>,
    v: ValueId,
    layout: AttentionLayout,
    typed: bool,
) -> LowerResult<Heads> {
    let at = cx.at(v)?;
    let readable = at.view.is_words() || (typed && FloatStorage::of(&at.view) != FloatStorage::F32);
    let together = at.view.strides[3].is(1) || at.view.shape[3].is(1);
    let at = if readable && together { at } else { cx.dense(v)? };
    Ok(Heads::of(&at, layout))
}

/// A mask as words over batch, heads, queries and keys.
pub(super) struct Mask {
    pub(super) at: PlacedView,
    pub(super) kind: u32,
    /// Strides over batch, heads, queries, keys.
    pub(super) strides: [DimExpr; 4],
    pub(super) keys: DimExpr,
}

pub(super) fn mask_words(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<Mask> {
    let at = cx.words(v)?;
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

/// A length or a place: where it is, and its expression if the frame knows it.
pub(super) struct Count {
    pub(super) at: PlacedView,
    pub(super) expr: Option<DimExpr>,
    pub(super) per_batch: bool,
}

pub(super) fn count(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<Count> {
    let expr = cx.scalar_value(v);
    let per_batch = cx.graph.ty(v).rank() == 1;
    let at = if expr.is_some() { cx.at(v)? } else { cx.dense(v)? };
    Ok(Count { at, expr, per_batch })
}

struct Problem<'a> {
    op: &'a Attention,
    /// Into how many parts the keys are split; the result is then one part of each row.
    parts: Option<u32>,
    q: Heads,
    k: Heads,
    v: Heads,
    y: Heads,
    mask: Option<Mask>,
    length: Option<Count>,
    extension: Option<Extension>,
}

/// The kernel's operands.
struct Operands {
    q: Bound,
    k: Bound,
    v: Bound,
    mask: Bound,
    lens: Bound,
    y: Bound,
}

impl Problem<'_> {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        for x in [&self.q, &self.k, &self.v, &self.y] {
            cx.fits_u32(&pumice_ir::shape::product(&x.extents), "an operand")?;
        }
        let mut step = StepBuilder::new();
        let operands = self.bind(&mut step);
        let more = self.extension.as_ref().map(|e| e.bind(&mut step, &operands.q, &operands.y));
        self.reads(cx, &mut step, &operands);
        let choice = self.choose(cx)?;
        step.flops(self.flops(cx), choice.roles.precision);
        let grid = cx.grid(&self.groups(&choice.roles)?)?;
        let mut call = self.call(cx, &choice, operands)?;
        if let Some((extension, bound)) = self.extension.as_ref().zip(more) {
            call = extension.call(cx, call, bound);
        }
        let meaning = meaning_with_literals(cx, id)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// Binds the operands. What the kernel does not read is the queries again.
    fn bind(&self, step: &mut StepBuilder) -> Operands {
        let q = step.read(0, &self.q.at).along(self.q.strides.clone());
        let k = step.read(1, &self.k.at).along(self.k.strides.clone());
        let v = step.read(2, &self.v.at).along(self.v.strides.clone());
        let mask = self.mask.as_ref().map(|m| step.read(3, &m.at).along(m.strides.clone()));
        let lens = self.length.as_ref().map(|l| (step.read(4, &l.at), l.expr.is_none()));
        let lens = lens.and_then(|(bound, is_read)| is_read.then_some(bound));
        let y = step.write(&self.y.at).along(self.y.strides.clone());
        Operands { mask: mask.unwrap_or(q.unread()), lens: lens.unwrap_or(q.unread()), q, k, v, y }
    }

    /// Query heads that share a key head.
    fn group(&self) -> LowerResult<DimExpr> {
        let group = self.q.extents[1].exact_quotient(&self.k.extents[1]);
        group.ok_or_else(|| "query heads do not share key heads evenly".into())
    }

    fn choose(&self, cx: &LowerCx<'_>) -> LowerResult<Choice> {
        let extents = self.extents(cx);
        let Some(parts) = self.parts else {
            return Ok(cx.selection.attention.choose(cx.target, &extents).ok_or(NO_KERNEL)?);
        };
        let rows = (self.group()? * &self.y.extents[2]).upper(cx.graph.symbols());
        let width = extents.d.max(extents.dv);
        let choice = cx.selection.split_attention.choose(cx.target, rows, width);
        choice.map(|choice| choice.with("parts", parts)).map_err(|widest| {
            format!("parts of attention have rows of at most {widest} elements, these have {width}").into()
        })
    }

    fn groups(&self, roles: &Roles) -> LowerResult<DimExpr> {
        let [batch, heads, rows, width] = self.y.extents.clone();
        if let Some(parts) = self.parts {
            let tiles = (self.group()? * rows).ceil_div(&roles.rows.into());
            return Ok(tiles * u64::from(parts) * &self.k.extents[1] * batch);
        }
        let mut columns = width.ceil_div(&roles.columns.into());
        if self.extension.is_some() {
            columns = columns.max_with(&DimExpr::constant(1));
        }
        let tiles = rows.ceil_div(&roles.rows.into()) * columns;
        Ok(tiles * heads * batch)
    }

    /// Upper bounds.
    fn extents(&self, cx: &LowerCx<'_>) -> Extents {
        let up = |d: &DimExpr| d.upper(cx.graph.symbols());
        let [batch, heads, queries, _] = &self.y.extents;
        Extents {
            d: up(&self.k.extents[3]),
            dv: up(&self.v.extents[3]),
            queries: up(queries),
            heads: up(batch).saturating_mul(up(heads)),
            keys: up(&self.k.extents[2]),
            masked: self.mask.is_some(),
            precision: self.op.rounding.precision(),
            extended: self.extension.is_some(),
        }
    }

    /// Two products over all pairs of queries and keys.
    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let width = (&self.k.extents[3] + &self.v.extents[3]) * 2u64;
        let keys = self.keys();
        let pairs = self.y.extents[..3].iter().chain([&keys]);
        cost::product(pairs.chain([&width]), cx.graph.symbols())
    }

    /// How many keys there are, as far as the frame knows it.
    fn keys(&self) -> DimExpr {
        let capacity = &self.k.extents[2];
        let length = self.length.as_ref().and_then(|l| l.expr.as_ref());
        length.map_or_else(|| capacity.clone(), |length| length.min_with(capacity))
    }

    /// Of keys and values as many are read as there are.
    fn reads(&self, cx: &LowerCx<'_>, step: &mut StepBuilder, operands: &Operands) {
        let keys = self.keys();
        for (heads, bound) in [(&self.k, &operands.k), (&self.v, &operands.v)] {
            let [batch, number, _, width] = &heads.extents;
            step.reads_only(bound, cost::product([batch, number, &keys, width], cx.graph.symbols()));
        }
    }

    fn call(&self, cx: &mut LowerCx<'_>, choice: &Choice, operands: Operands) -> LowerResult<CallBuilder> {
        let Operands { q, k, v, mask, lens, y } = operands;
        let [batch, heads, rows, width] = &self.q.extents;
        let (group, widths) = (self.group()?, [width, &self.v.extents[3]]);
        let [batches, hq, group, sq, sk] =
            [batch, heads, &group, rows, &self.k.extents[2]].map(|e| cx.arg(e));
        let [d, dv] = widths.map(|e| cx.arg(e));
        let mask_len = self.mask.as_ref().map_or(ArgValue::ZERO, |m| cx.arg(&m.keys));
        let [left, right] = window_of(self.op, self.extension.is_some());
        let (length, len_b, kv_len) = length_of(cx, self.length.as_ref());
        let call = Kernel {
            variant: choice.variant.name,
            vec: self.vec(cx, &choice.roles),
            mask_kind: self.mask.as_ref().map_or(mask::NONE, |m| m.kind),
            length,
            capped: u32::from(self.op.softcap > 0.0),
            round: product::round(self.op.rounding),
            batches,
            hq,
            group,
            sq,
            sk,
            d,
            dv,
            mask_len,
            scale: ArgValue::f32(scale_of(self.op, width)?),
            softcap: ArgValue::f32(self.op.softcap),
            left,
            right,
            kv_len,
            len_b,
            q,
            k,
            v,
            mask,
            lens,
            y,
            slots: Vec::new(),
            holes: crate::rows::rounding(self.y.at.view.dtype, "epilogue")?,
        };
        Ok(choice.call(call.into_call()))
    }

    /// What can be read four elements at once: q, k, v, y, then whether widths fill a tile's columns.
    fn vec(&self, cx: &LowerCx<'_>, roles: &Roles) -> u32 {
        let fills = |x: &Heads| x.extents[3].divisor(cx.graph.symbols()).is_multiple_of(roles.columns);
        let rows = [&self.q, &self.k, &self.v, &self.y].map(|x| x.by_four(cx));
        let bits = rows.into_iter().chain([fills(&self.q), fills(&self.v)]);
        bits.enumerate().fold(0, |bits, (i, set)| bits | u32::from(set) << i)
    }
}

/// Where the kernel finds the length, whether each batch has its own, and what the frame knows of it.
pub(super) fn length_of(cx: &mut LowerCx<'_>, count: Option<&Count>) -> (u32, ArgValue, ArgValue) {
    let Some(Count { expr, per_batch, .. }) = count else {
        return (length::NONE, ArgValue::ZERO, ArgValue::ZERO);
    };
    let source = if expr.is_some() { length::ARG } else { length::OPERAND };
    let known = expr.as_ref().map_or(ArgValue::ZERO, |e| cx.arg(e));
    (source, ArgValue::U32(u32::from(*per_batch)), known)
}

/// How many keys before and after a query count.
pub(super) fn window_of(op: &Attention, has_place: bool) -> [ArgValue; 2] {
    // Beside a place of its own, a window beyond i32 is none: its sum with a place at the end of i32 is no i32.
    let bound = |n: i64| match i32::try_from(n) {
        Err(_) if has_place => UNBOUNDED,
        _ => window(n),
    };
    [bound(op.left), if op.causal { 0 } else { bound(op.right) }].map(ArgValue::i32)
}

/// The factor of products of this width.
pub(super) fn scale_of(op: &Attention, width: &DimExpr) -> LowerResult<f32> {
    match (op.scale, width.as_const()) {
        (Some(scale), _) => Ok(scale),
        (None, Some(d)) => Ok((1.0 / (d as f64).sqrt()) as f32),
        (None, None) => Err("it has a symbolic width and no scale".into()),
    }
}

/// A window as the kernel takes it.
fn window(n: i64) -> i32 {
    if n < 0 { UNBOUNDED } else { n.min(i64::from(i32::MAX)) as i32 }
}
