//! The rule of gradients of `Attention`, made of ops: scores and probabilities are computed again.
//!
//! With s the scores, lse the logarithms of their sums, which the node is asked for, p = e^(s − lse) over the allowed
//! keys and t = tanh(scale·⟨q, k⟩/softcap): dv = pᵀ·dy, dp = dy·vᵀ, ds = p·(dp − Σ dp·p + dlse), dmask = Σ ds over what
//! it was stretched along, and with dz = scale·ds·(1 − t²) (ds·scale without a cap): dq = dz·k, dk = dzᵀ·q. Σ dp·p over
//! the keys is Σ dy·y over the width, as in FlashAttention (Dao et al. 2022, appendix B). The queries of a group of
//! heads lie in one matrix \[B, Hkv, group·Sq, ·\], so that products sum over the group. A query without an allowed
//! key has p = 0. Keys and values that no query may see are taken as zeros: NaN there has no effect.

use super::attention::{ALIBI, Attention, AttentionLayout, SINKS};
use super::attention_scores::Allowed;
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, MatMul, NoGrad};
use pumice_types::{DType, DimExpr};

/// Gradients of queries, keys, values and a float mask.
pub(super) fn rule(op: &Attention, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    expect_defined(cx)?;
    let again = Again::new(op, cx)?;
    let dy = cx.upstream(0).map(|dy| wide(cx.g, again.in_order(dy)));
    let dv = cx.wanted(2, || again.of_values(dy));
    let mut grads = vec![None, None, dv, None];
    if [0, 1, 3].into_iter().any(|i| cx.wants(i)) {
        [grads[0], grads[1], grads[3]] = again.through_scores(dy);
    }
    Ok(grads)
}

/// Errors where a gradient is asked for that there is none of.
fn expect_defined(cx: &GradCx<'_>) -> Result<(), NoGrad> {
    if cx.wants(SINKS) {
        return Err(NoGrad::Undefined("none is defined by its sinks"));
    }
    if cx.wants(ALIBI) {
        return Err(NoGrad::Undefined("none is defined by its slopes (`alibi`)"));
    }
    Ok(())
}

/// An attention computed again in f32, its operands in the order batch, heads, sequence, width.
struct Again<'a, 'b> {
    op: &'a Attention,
    cx: &'a GradCx<'b>,
    g: &'a GraphBuilder,
    /// B, Hkv, the query heads of a key head, Sq.
    extents: [DimExpr; 4],
    allowed: Option<Value>,
    q: Value,
    k: Value,
    v: Value,
    /// t, where there is a cap.
    capped: Option<Value>,
    /// Probabilities: \[B, Hq, Sq, Sk\].
    p: Value,
}

impl<'a, 'b> Again<'a, 'b> {
    fn new(op: &'a Attention, cx: &'a GradCx<'b>) -> Result<Again<'a, 'b>, NoGrad> {
        let g = cx.g;
        let extents = extents(op, cx);
        let allowed = Allowed::new(op, cx);
        let [q, k, v] = operands(op, cx, &allowed, &extents).map(|x| cx.held(x));
        let mut again = Again { op, cx, g, extents, allowed: allowed.keys(), q, k, v, capped: None, p: q };
        let scores = again.scores(&allowed);
        let lse = match allowed.is_shifted() {
            true => None,
            false => cx.ask(Attention { lse: true, ..op.clone() })?.get(1).copied(),
        };
        again.p = again.probabilities(scores, lse);
        Ok(again)
    }

    /// s, −Inf where a key is not allowed.
    fn scores(&mut self, allowed: &Allowed<'_, '_>) -> Value {
        let (g, cap) = (self.g, self.op.softcap);
        let products = self.scaled(self.heads(self.product([self.rows(self.q), self.k], false, true)));
        let mut scores = products;
        if cap > 0.0 {
            let bounded = g.tanh(g.div(products, g.constant_scalar(DType::F32, f64::from(cap))));
            self.capped = Some(bounded);
            scores = g.affine(bounded, cap, 0.0);
        }
        for added in allowed.added() {
            scores = g.add(scores, added);
        }
        let none = g.constant_scalar(DType::F32, f64::NEG_INFINITY);
        self.allowed.map_or(scores, |allowed| g.select(allowed, scores, none))
    }

    /// e^(s − lse), by the forward op's result where it has one of these scores.
    fn probabilities(&self, scores: Value, lse: Option<Value>) -> Value {
        let g = self.g;
        // Of a query that sees nothing every score and lse are −Inf.
        let lowest = g.constant_scalar(DType::F32, f64::from(f32::MIN));
        let Some(lse) = lse else { return self.shares(scores, lowest) };
        g.exp(g.sub(scores, g.max(&[g.unsqueeze(lse, &[3]), lowest])))
    }

    /// e^s over their sum, the sink's among them, from the largest score on, or from `lowest`.
    fn shares(&self, scores: Value, lowest: Value) -> Value {
        let g = self.g;
        let sink = self.cx.opt(SINKS).map(|sinks| g.unsqueeze(wide(g, sinks), &[1, 2]));
        let largest = [Some(g.reduce_max(scores, &[3], true)), sink, Some(lowest)];
        let largest = g.stop_gradient(g.max(&largest.into_iter().flatten().collect::<Vec<_>>()));
        let terms = g.exp(g.sub(scores, largest));
        let sum = g.reduce_sum(terms, &[3], true);
        let sum = sink.map_or(sum, |sink| g.add(sum, g.exp(g.sub(sink, largest))));
        g.div(terms, g.max(&[sum, g.constant_scalar(DType::F32, f64::from(f32::MIN_POSITIVE))]))
    }

    /// dv.
    fn of_values(&self, dy: Option<Value>) -> Value {
        match dy {
            Some(dy) => self.back(self.product([self.p, dy].map(|v| self.rows(v)), true, false), 2),
            None => self.cx.zeros(self.cx.x(2)),
        }
    }

    /// dq, dk and dmask, as far as they are asked for.
    fn through_scores(&self, dy: Option<Value>) -> [Option<Value>; 3] {
        let cx = self.cx;
        let ds = self.of_scores(dy);
        let dmask = cx.opt(3).filter(|_| cx.wants(3)).map(|mask| self.of_mask(ds, mask));
        let dz = self.rows(self.of_products(ds));
        let dq = cx.wanted(0, || self.back(self.heads(self.product([dz, self.k], false, false)), 0));
        let dk = cx.wanted(1, || self.back(self.product([dz, self.rows(self.q)], true, false), 1));
        [dq, dk, dmask]
    }

    /// ds.
    fn of_scores(&self, dy: Option<Value>) -> Value {
        let (g, cx) = (self.g, self.cx);
        let by_values = dy.map(|dy| {
            let dp = self.heads(self.product([self.rows(dy), self.v], false, true));
            let zero = g.constant_scalar(DType::F32, 0.0);
            let dp = self.allowed.map_or(dp, |allowed| g.select(allowed, dp, zero));
            // A result of 16 bits was rounded after the sum.
            let of_result = cx.ty(cx.y(0)).dtype() == DType::F32;
            let terms = if of_result { g.mul(dy, self.in_order(cx.y(0))) } else { g.mul(dp, self.p) };
            g.sub(dp, g.reduce_sum(terms, &[3], true))
        });
        let by_sums = self.cx.upstream(1).map(|dlse| g.unsqueeze(dlse, &[3]));
        let both = [by_values, by_sums].into_iter().flatten().reduce(|a, b| g.add(a, b));
        both.map_or_else(|| self.cx.zeros(self.p), |both| g.mul(self.p, both))
    }

    /// dz.
    fn of_products(&self, ds: Value) -> Value {
        let g = self.g;
        let slope = self.capped.map(|t| g.affine(g.square(t), -1.0, 1.0));
        self.scaled(slope.map_or(ds, |slope| g.mul(ds, slope)))
    }

    /// The mask's: keys beyond it are none of it.
    fn of_mask(&self, ds: Value, mask: Value) -> Value {
        let keys = self.cx.shape(mask).last().cloned().unwrap_or(DimExpr::constant(1));
        let whole = if keys == self.cx.shape(ds)[3] { ds } else { self.g.narrow(ds, 3, 0, keys) };
        let gradient = narrowed(self.cx, self.cx.unstretched(whole, mask), mask);
        // Of a symbolic number of keys the part is known as the lesser of two.
        let shape = self.cx.shape(mask);
        if self.cx.shape(gradient) == shape { gradient } else { self.g.reshape_to(gradient, shape) }
    }

    fn scaled(&self, x: Value) -> Value {
        let (g, q) = (self.g, self.cx.x(0));
        let width = self.cx.shape(q)[3].as_extent();
        match (self.op.scale, width) {
            (Some(scale), _) => g.affine(x, scale, 0.0),
            (None, Some(width)) => g.affine(x, (1.0 / (width as f64).sqrt()) as f32, 0.0),
            (None, None) => g.mul(x, g.rsqrt(g.cast(g.extent(q, 3), DType::F32))),
        }
    }

    /// The product of two batches of matrices, rounded as the forward op's.
    fn product(&self, factors: [Value; 2], trans_a: bool, trans_b: bool) -> Value {
        self.g.apply(MatMul { trans_a, trans_b, rounding: self.op.rounding }, &factors)
    }

    /// \[B, Hq, Sq, ·\] as \[B, Hkv, group·Sq, ·\].
    fn rows(&self, x: Value) -> Value {
        let [b, heads, group, s] = &self.extents;
        let last = self.cx.shape(x)[3].clone();
        if group.is(1) { x } else { self.g.reshape_to(x, vec![b.clone(), heads.clone(), group * s, last]) }
    }

    /// \[B, Hkv, group·Sq, ·\] as \[B, Hq, Sq, ·\].
    fn heads(&self, x: Value) -> Value {
        let [b, heads, group, s] = &self.extents;
        let last = self.cx.shape(x)[3].clone();
        if group.is(1) { x } else { self.g.reshape_to(x, vec![b.clone(), heads * group, s.clone(), last]) }
    }

    fn in_order(&self, x: Value) -> Value {
        in_order(self.op, self.g, x)
    }

    /// A gradient in the layout and dtype of its operand.
    fn back(&self, gradient: Value, i: usize) -> Value {
        narrowed(self.cx, self.in_order(gradient), self.cx.x(i))
    }
}

/// B, Hkv, the query heads of a key head, Sq.
fn extents(op: &Attention, cx: &GradCx<'_>) -> [DimExpr; 4] {
    let axes = op.layout.axes();
    let of = |i: usize, axis: usize| cx.shape(cx.x(i))[axes[axis]].clone();
    let heads = [0, 1].map(|i| of(i, 1).as_const().filter(|&n| n > 0).unwrap_or(1));
    [of(0, 0), of(1, 1), DimExpr::constant(heads[0] / heads[1]), of(0, 2)]
}

/// Queries, keys and values in f32 and in the order batch, heads, sequence, width; zeros for what no query may see.
fn operands(
    op: &Attention,
    cx: &GradCx<'_>,
    allowed: &Allowed<'_, '_>,
    extents: &[DimExpr; 4],
) -> [Value; 3] {
    let g = cx.g;
    let [q, k, v] = [0, 1, 2].map(|i| wide(g, in_order(op, g, cx.x(i))));
    let Some(seen) = allowed.seen(extents) else { return [q, k, v] };
    let [k, v] = [k, v].map(|x| g.select(seen, x, g.constant_scalar(DType::F32, 0.0)));
    [q, k, v]
}

/// \[B, H, S, ·\] of a value in the op's layout, or back.
fn in_order(op: &Attention, g: &GraphBuilder, x: Value) -> Value {
    if op.layout == AttentionLayout::Bhsd { x } else { g.transpose(x, &[0, 2, 1, 3]) }
}
