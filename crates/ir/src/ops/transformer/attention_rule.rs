//! The rule of gradients of `Attention`: by its own kernels ([`AttentionGrad`]), or made of ops.
//!
//! With s the scores, lse the logarithms of their sums, which the node is asked for, p = e^(s − lse) over the allowed
//! keys and t = tanh(scale·⟨q, k⟩/softcap): dv = pᵀ·dy, dp = dy·vᵀ, ds = p·(dp − Σ dp·p + dlse), dmask = Σ ds over what
//! it was stretched along, and with dz = scale·ds·(1 − t²) (ds·scale without a cap): dq = dz·k, dk = dzᵀ·q. Σ dp·p over
//! the keys is Σ dy·y over the width, as in FlashAttention (Dao et al. 2022, appendix B). Products sum over a group of
//! heads. A query without an allowed key has p = 0. With dropout, dv is of what is left of p, and dp is dropped as p
//! was.
//!
//! [`AttentionGrad`] is given q, k, v, dy, lse and Σ dy·y − dlse, and keeps no scores in memory. Made of ops, from
//! scores and probabilities that are computed again and lie in memory, are the gradients of an attention that drops
//! probabilities, of 16-bit operands, with slopes (its sums are made again, since far places would take the precision
//! of scores) or a symbolic width without a scale; where a mask's gradient is wanted; and where the loss depends on
//! lse alone. What rounds its factors is made of ops when it is compiled.

use super::attention::{ALIBI, Attention, LENGTH, MASK, OFFSET, SINKS};
use super::attention_formula::{Formula, Given, Scores};
use super::attention_grad::{AttentionFactor, AttentionGrad};
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NoGrad};
use pumice_types::{DType, DimExpr};

/// Gradients of queries, keys, values and a float mask.
pub(super) fn rule(op: &Attention, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    expect_defined(cx)?;
    match cx.upstream(0).filter(|_| has_kernels(op, cx)) {
        Some(dy) => by_kernels(op, cx, dy),
        None => made_of_ops(op, cx),
    }
}

/// Whether there are kernels for what is wanted, where the loss depends on the result.
fn has_kernels(op: &Attention, cx: &GradCx<'_>) -> bool {
    let factors = (0..3).all(|i| cx.ty(cx.x(i)).dtype() == DType::F32);
    let width = cx.shape(cx.x(0))[3].as_const();
    let scaled = op.scale.is_some() || width.is_some();
    factors && scaled && op.dropout == 0.0 && cx.opt(ALIBI).is_none() && !cx.wants(MASK)
}

/// Those of queries, and those of keys and values, by an op each.
fn by_kernels(op: &Attention, cx: &GradCx<'_>, dy: Value) -> Result<Grads, NoGrad> {
    // Of what is transposed they are made as that lies, so that nothing is copied to and fro.
    let turned = (0..3).all(|i| cx.is_exchanged(i, 1, 2));
    let layout = if turned { op.layout.other() } else { op.layout };
    let as_it_lies = |x: Value| if turned { cx.g.transpose(x, &[0, 2, 1, 3]) } else { x };
    let [lse, delta] = of_sums(op, cx, dy)?;
    let [q, k, v] = [0, 1, 2].map(|i| Some(cx.held(as_it_lies(cx.x(i)))));
    let [mask, length, offset] = [MASK, LENGTH, OFFSET].map(|i| cx.opt(i));
    let operands = [q, k, v, Some(as_it_lies(dy)), Some(lse), Some(delta), mask, length, offset];
    let of = |factor| {
        let results =
            cx.g.attention_grad(AttentionGrad { layout, ..AttentionGrad::of(op, factor) }, &operands);
        results.into_iter().map(|x| Some(as_it_lies(x)))
    };
    let mut grads: Grads = vec![None; 3];
    if cx.wants(0) {
        grads.splice(..1, of(AttentionFactor::Queries));
    }
    if cx.wants(1) || cx.wants(2) {
        grads.splice(1.., of(AttentionFactor::KeysAndValues));
    }
    Ok(grads)
}

/// lse, and Σ dy·y over the width − dlse: f32 \[B, Hq, Sq\].
fn of_sums(op: &Attention, cx: &GradCx<'_>, dy: Value) -> Result<[Value; 2], NoGrad> {
    let (g, given) = (cx.g, Given::new(op, cx.g, cx.operands()).ok_or(NoGrad::Composed)?);
    let results = cx.ask(Attention { lse: true, ..op.clone() })?;
    let lse = *results.get(1).ok_or(NoGrad::Composed)?;
    let [dy, y] = [dy, cx.y(0)].map(|x| given.in_order(x));
    let delta = g.reduce_sum(g.mul(dy, y), &[3], false);
    Ok([lse, cx.upstream(1).map_or(delta, |dlse| g.sub(delta, dlse))])
}

/// All of them by ops.
fn made_of_ops(op: &Attention, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let again = Again::new(op, cx)?;
    let dy = cx.upstream(0).map(|dy| wide(cx.g, again.in_order(dy)));
    let dv = cx.wanted(2, || again.of_values(dy));
    let mut grads = vec![None, None, dv, None];
    if [0, 1, MASK].into_iter().any(|i| cx.wants(i)) {
        [grads[0], grads[1], grads[MASK]] = again.through_scores(dy);
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

/// An attention computed again.
struct Again<'a, 'b> {
    cx: &'a GradCx<'b>,
    g: &'a GraphBuilder,
    formula: Formula<'a>,
    /// t, where there is a cap.
    capped: Option<Value>,
    /// Probabilities: \[B, Hq, Sq, Sk\].
    p: Value,
}

impl<'a, 'b> Again<'a, 'b> {
    fn new(op: &'a Attention, cx: &'a GradCx<'b>) -> Result<Again<'a, 'b>, NoGrad> {
        let given = Given::new(op, cx.g, cx.operands()).ok_or(NoGrad::Composed)?;
        let formula = Formula::new(given, true, |x| cx.held(x));
        let Scores { scores, capped } = formula.scores();
        let p = if formula.allowed.is_shifted() {
            formula.shares(&formula.sums(scores))
        } else {
            let results = cx.ask(Attention { lse: true, ..op.clone() })?;
            formula.probabilities(scores, *results.get(1).ok_or(NoGrad::Composed)?)
        };
        Ok(Again { cx, g: cx.g, formula, capped, p })
    }

    /// Without those that the op dropped. Where this is read they are drawn again, so that none is kept.
    fn dropped(&self, x: Value) -> Value {
        let given = &self.formula.given;
        if given.op.dropout == 0.0 {
            return x;
        }
        let [seed_low, seed_high, step] = given.source();
        let step = self.g.barrier(&[step], Some(x))[0];
        self.g.apply(given.dropout(), &[x, seed_low, seed_high, step])
    }

    /// dv.
    fn of_values(&self, dy: Option<Value>) -> Value {
        match dy {
            Some(dy) => self.back(self.formula.by_values(self.dropped(self.p), dy), 2),
            None => self.cx.zeros(self.cx.x(2)),
        }
    }

    /// dq, dk and dmask, as far as they are asked for.
    fn through_scores(&self, dy: Option<Value>) -> [Option<Value>; 3] {
        let cx = self.cx;
        let ds = self.of_scores(dy);
        let dmask = cx.opt(MASK).filter(|_| cx.wants(MASK)).map(|mask| self.of_mask(ds, mask));
        let f = &self.formula;
        let dz = f.rows(f.of_products(ds, self.capped));
        let dq = cx.wanted(0, || self.back(f.by_queries(dz), 0));
        let dk = cx.wanted(1, || self.back(f.by_keys(dz), 1));
        [dq, dk, dmask]
    }

    /// ds.
    fn of_scores(&self, dy: Option<Value>) -> Value {
        let (g, cx) = (self.g, self.cx);
        let by_values = dy.map(|dy| {
            let dp = self.formula.of_values(dy, |dp| self.dropped(dp));
            // A result of 16 bits was rounded after the sum.
            let of_result = cx.ty(cx.y(0)).dtype() == DType::F32;
            let terms = if of_result { g.mul(dy, self.in_order(cx.y(0))) } else { g.mul(dp, self.p) };
            g.sub(dp, g.reduce_sum(terms, &[3], true))
        });
        let by_sums = self.cx.upstream(1).map(|dlse| g.unsqueeze(dlse, &[3]));
        let both = [by_values, by_sums].into_iter().flatten().reduce(|a, b| g.add(a, b));
        both.map_or_else(|| self.cx.zeros(self.p), |both| g.mul(self.p, both))
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

    fn in_order(&self, x: Value) -> Value {
        self.formula.given.in_order(x)
    }

    /// A gradient in the layout and dtype of its operand.
    fn back(&self, gradient: Value, i: usize) -> Value {
        narrowed(self.cx, self.in_order(gradient), self.cx.x(i))
    }
}
