//! Gradients of attention: operands as strided batches of heads, one step by queries or by keys and values.

use super::attention::{Count, Heads, Mask, count, heads, length_of, mask_words, scale_of, window_of};
use super::attention_extended::place_of;
use super::{Lower, LowerResult};
use crate::cost;
use crate::cx::{LowerCx, meaning_with_literals};
use crate::product;
use crate::select::attention_grad::Extents;
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::ops::attention_grad::{AttentionFactor, DELTA, DY, LENGTH, LSE, MASK, OFFSET};
use pumice_ir::ops::{Attention, AttentionGrad};
use pumice_ir::shape::product as elements;
use pumice_ir::{NodeId, ValueId};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::attention::mask;
use pumice_types::DimExpr;

impl Lower for AttentionGrad {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let results: Vec<ValueId> = cx.graph.node(id).outputs.to_vec();
        let results = results.into_iter().map(|v| cx.result(v)).collect::<LowerResult<Vec<PlacedView>>>()?;
        if results.iter().all(PlacedView::is_empty) {
            return Ok(());
        }
        let whole = self.attention();
        Problem::of(cx, id, self, &whole, &results)?.emit(cx, id)
    }
}

/// A node's operands and results as they lie.
struct Problem<'a> {
    of: AttentionFactor,
    op: &'a Attention,
    /// q, k, v, dy.
    factors: [Heads; 4],
    /// lse and delta.
    sums: [PlacedView; 2],
    mask: Option<Mask>,
    length: Option<Count>,
    offset: Option<Count>,
    results: Vec<Heads>,
}

impl<'a> Problem<'a> {
    fn of(
        cx: &mut LowerCx<'_>,
        id: NodeId,
        op: &AttentionGrad,
        whole: &'a Attention,
        results: &[PlacedView],
    ) -> LowerResult<Problem<'a>> {
        let node = cx.graph.node(id);
        let operand = |i: usize| node.input(i).ok_or("it lacks an operand");
        let [q, k, v, dy] = [operand(0)?, operand(1)?, operand(2)?, operand(DY)?];
        let mut factor = |v| heads(cx, v, op.layout, false);
        let factors = [factor(q)?, factor(k)?, factor(v)?, factor(dy)?];
        let sums = [cx.dense(operand(LSE)?)?, cx.dense(operand(DELTA)?)?];
        let mask = node.input(MASK).map(|v| mask_words(cx, v)).transpose()?;
        let length = node.input(LENGTH).map(|v| count(cx, v)).transpose()?;
        let offset = node.input(OFFSET).map(|v| count(cx, v)).transpose()?;
        let results = results.iter().map(|at| Heads::of(at, op.layout)).collect();
        Ok(Problem { of: op.of, op: whole, factors, sums, mask, length, offset, results })
    }

    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        for x in self.factors.iter().chain(&self.results) {
            cx.fits_u32(&elements(&x.extents), "an operand")?;
        }
        let choice = self.choose(cx)?;
        let mut step = StepBuilder::new();
        let call = self.call(cx, &choice)?;
        let bound = self.bind(&mut step).into_iter().chain(self.write(&mut step));
        let call = bound.fold(call, |call, (name, bound)| call.operand(name, bound));
        step.flops(self.flops(cx), choice.roles.precision);
        let grid = cx.grid(&self.groups(&choice)?)?;
        let meaning = meaning_with_literals(cx, id)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// Binds the operands. What the kernel does not read is the queries again.
    fn bind(&self, step: &mut StepBuilder) -> Vec<(&'static str, Bound)> {
        let mut factor = |i: usize| step.read(i, &self.factors[i].at).along(self.factors[i].strides.clone());
        let [q, k, v, dy] = [factor(0), factor(1), factor(2), factor(DY)];
        let [lse, delta] = [step.read(LSE, &self.sums[0]), step.read(DELTA, &self.sums[1])];
        let mask = self.mask.as_ref().map(|m| step.read(MASK, &m.at).along(m.strides.clone()));
        let mut of_count = |i: usize, count: &Option<Count>| {
            let bound = count.as_ref().map(|c| (step.read(i, &c.at), c.expr.is_none()));
            bound.and_then(|(bound, is_read)| is_read.then_some(bound))
        };
        let (lens, offsets) = (of_count(LENGTH, &self.length), of_count(OFFSET, &self.offset));
        let [mask, lens, offsets] = [mask, lens, offsets].map(|bound| bound.unwrap_or(q.unread()));
        let names = ["q", "k", "v", "dy", "lse", "delta", "mask", "lens", "offsets"];
        names.into_iter().zip([q, k, v, dy, lse, delta, mask, lens, offsets]).collect()
    }

    /// Binds the results.
    fn write(&self, step: &mut StepBuilder) -> Vec<(&'static str, Bound)> {
        let bound = self.results.iter().map(|x| step.write(&x.at).along(x.strides.clone()));
        ["grad", "v_grad"].into_iter().zip(bound).collect()
    }

    /// Query heads that share a key head.
    fn group(&self) -> LowerResult<DimExpr> {
        let group = self.factors[0].extents[1].exact_quotient(&self.factors[1].extents[1]);
        group.ok_or_else(|| "query heads do not share key heads evenly".into())
    }

    /// Rows of whose tiles there is a group each: queries, or keys.
    fn tiled(&self) -> &Heads {
        match self.of {
            AttentionFactor::Queries => &self.factors[0],
            AttentionFactor::KeysAndValues => &self.factors[1],
        }
    }

    fn choose(&self, cx: &LowerCx<'_>) -> LowerResult<Choice> {
        let up = |d: &DimExpr| d.upper(cx.graph.symbols());
        let [q, k, v, _] = &self.factors;
        let [batch, heads, rows, _] = &self.tiled().extents;
        let columns = match self.of {
            AttentionFactor::Queries => &k.extents[2],
            AttentionFactor::KeysAndValues => &q.extents[2],
        };
        let extents = Extents {
            d: up(&q.extents[3]),
            dv: up(&v.extents[3]),
            rows: up(rows),
            heads: up(batch).saturating_mul(up(heads)),
            columns: up(columns),
            group: up(&self.group()?),
        };
        Ok(cx.selection.attention_grad.choose(cx.target, self.of, &extents).ok_or(NO_KERNEL)?)
    }

    fn groups(&self, choice: &Choice) -> LowerResult<DimExpr> {
        let [batch, heads, rows, d] = &self.tiled().extents;
        let width = match self.of {
            AttentionFactor::Queries => d.clone(),
            AttentionFactor::KeysAndValues => d.max_with(&self.factors[2].extents[3]),
        };
        let tiles = rows.ceil_div(&choice.roles.rows.into()) * width.ceil_div(&choice.roles.columns.into());
        Ok(tiles * heads * batch)
    }

    /// Products over all pairs of queries and keys: three, or four.
    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let [q, k, v, _] = &self.factors;
        let (d, dv) = (&q.extents[3], &v.extents[3]);
        let width = match self.of {
            AttentionFactor::Queries => d * 2u64 + dv,
            AttentionFactor::KeysAndValues => (d + dv) * 2u64,
        };
        let (width, capacity) = (width * 2u64, &k.extents[2]);
        let length = self.length.as_ref().and_then(|l| l.expr.as_ref());
        let keys = length.map_or_else(|| capacity.clone(), |length| length.min_with(capacity));
        cost::product(q.extents[..3].iter().chain([&keys, &width]), cx.graph.symbols())
    }

    /// What can be read or written four elements at once: q, k, v, dy, whether widths fill a tile's columns, results.
    fn vec(&self, cx: &LowerCx<'_>, columns: u64) -> u32 {
        let fills = |x: &Heads| x.extents[3].divisor(cx.graph.symbols()).is_multiple_of(columns);
        let factors = self.factors.iter().map(|x| x.by_four(cx));
        let filled = [0, 2].map(|i| fills(&self.factors[i]));
        let bits = factors.chain(filled).chain(self.results.iter().map(|x| x.by_four(cx)));
        bits.enumerate().fold(0, |bits, (i, set)| bits | u32::from(set) << i)
    }

    /// The call, its rules and its extents without what it binds.
    fn call(&self, cx: &mut LowerCx<'_>, choice: &Choice) -> LowerResult<CallBuilder> {
        let group = self.group()?;
        let [batch, heads, rows, width] = &self.factors[0].extents;
        let call = CallBuilder::new(choice.decl, choice.variant.name)
            .constant("vec", self.vec(cx, choice.roles.columns))
            .constant("capped", u32::from(self.op.softcap > 0.0))
            .constant("round", product::round(self.op.rounding))
            .own("scale", ArgValue::f32(scale_of(self.op, width)?))
            .own("softcap", ArgValue::f32(self.op.softcap));
        let names = ["batches", "hq", "group", "sq", "sk", "d", "dv"];
        let [_, keys, values, _] = &self.factors;
        let extents = [batch, heads, &group, rows, &keys.extents[2], width, &values.extents[3]];
        let call = names.into_iter().zip(extents).fold(call, |call, (name, e)| call.own(name, cx.arg(e)));
        Ok(self.rules(cx, call))
    }

    /// The call with what says which keys a query sees.
    fn rules(&self, cx: &mut LowerCx<'_>, call: CallBuilder) -> CallBuilder {
        let mask_len = self.mask.as_ref().map_or(ArgValue::ZERO, |m| cx.arg(&m.keys));
        let [left, right] = window_of(self.op, true);
        let (length, len_b, kv_len) = length_of(cx, self.length.as_ref());
        let (place, first_place_b, first_place) = place_of(cx, self.offset.as_ref());
        call.constant("mask_kind", self.mask.as_ref().map_or(mask::NONE, |m| m.kind))
            .constant("length", length)
            .constant("place", place)
            .own("mask_len", mask_len)
            .own("left", left)
            .own("right", right)
            .own("kv_len", kv_len)
            .own("len_b", len_b)
            .own("first_place", first_place)
            .own("first_place_b", first_place_b)
    }
}
