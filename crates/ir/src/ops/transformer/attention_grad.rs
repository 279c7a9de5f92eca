//! The rule of gradients of `Attention`, made of ops: scores and probabilities are computed again.
//!
//! With s the scores, lse the logarithms of their sums, which the node is asked for, p = e^(s − lse) over the allowed
//! keys and t = tanh(scale·⟨q, k⟩/softcap): dv = pᵀ·dy, dp = dy·vᵀ, ds = p·(dp − Σ dp·p + dlse), dmask = Σ ds over what
//! it was stretched along, and with dz = scale·ds·(1 − t²) (ds·scale without a cap): dq = dz·k, dk = dzᵀ·q. Σ dp·p over
//! the keys is Σ dy·y over the width, as in FlashAttention (Dao et al. 2022, appendix B). Products sum over a group of
//! heads. A query without an allowed key has p = 0. With dropout, dv is of what is left of p, and dp is dropped as p
//! was.

use super::attention::{ALIBI, Attention, SINKS};
use super::attention_formula::{Formula, Given, Scores};
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NoGrad};
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
            probabilities(&formula, scores, *results.get(1).ok_or(NoGrad::Composed)?)
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
            Some(dy) => {
                let factors = [self.dropped(self.p), dy].map(|v| self.formula.rows(v));
                self.back(self.formula.product(factors, true, false), 2)
            }
            None => self.cx.zeros(self.cx.x(2)),
        }
    }

    /// dq, dk and dmask, as far as they are asked for.
    fn through_scores(&self, dy: Option<Value>) -> [Option<Value>; 3] {
        let cx = self.cx;
        let ds = self.of_scores(dy);
        let dmask = cx.opt(3).filter(|_| cx.wants(3)).map(|mask| self.of_mask(ds, mask));
        let f = &self.formula;
        let dz = f.rows(self.of_products(ds));
        let dq = cx.wanted(0, || self.back(f.heads(f.product([dz, f.k], false, false)), 0));
        let dk = cx.wanted(1, || self.back(f.product([dz, f.rows(f.q)], true, false), 1));
        [dq, dk, dmask]
    }

    /// ds.
    fn of_scores(&self, dy: Option<Value>) -> Value {
        let (g, cx) = (self.g, self.cx);
        let by_values = dy.map(|dy| {
            let f = &self.formula;
            let dp = self.dropped(f.heads(f.product([f.rows(dy), f.v], false, true)));
            let zero = g.constant_scalar(DType::F32, 0.0);
            let dp = f.allowed.keys().map_or(dp, |allowed| g.select(allowed, dp, zero));
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
        self.formula.scaled(slope.map_or(ds, |slope| g.mul(ds, slope)))
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

/// e^(s − lse), by the forward op's result.
fn probabilities(formula: &Formula<'_>, scores: Value, lse: Value) -> Value {
    let g = formula.given.g;
    // Of a query that sees nothing every score and lse are −Inf.
    g.exp(g.sub(scores, g.max(&[g.unsqueeze(lse, &[3]), formula.lowest()])))
}
