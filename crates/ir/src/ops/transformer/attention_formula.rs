//! What an `Attention` computes up to its probabilities, made of ops: for its rule of gradients and its composed form.
//!
//! The queries of a group of heads lie in one matrix \[B, Hkv, group·Sq, ·\]. Keys and values that no query may see
//! are taken as zeros: NaN there has no effect.

use super::attention::{Attention, AttentionLayout, DROPOUT, SINKS};
use super::attention_scores::Allowed;
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::wide;
use crate::ops::{Dropout, MatMul};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, MAX_RANK};

/// An attention with its operands, and where nodes go.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub op: &'a Attention,
    pub g: &'a GraphBuilder,
    operands: &'a [Option<Value>],
    q: Value,
}

impl<'a> Given<'a> {
    /// None without queries, which inference has seen to be there.
    pub fn new(op: &'a Attention, g: &'a GraphBuilder, operands: &'a [Option<Value>]) -> Option<Given<'a>> {
        let q = operands.first().copied().flatten()?;
        Some(Given { op, g, operands, q })
    }

    /// An operand that inference has seen to be there.
    pub fn x(&self, i: usize) -> Value {
        self.opt(i).unwrap_or(self.q)
    }

    /// An operand, if it is there.
    pub fn opt(&self, i: usize) -> Option<Value> {
        self.operands.get(i).copied().flatten()
    }

    /// The type of a value; of one that came out of a mistake as many axes as anybody asks for.
    pub fn ty(&self, x: Value) -> ValueType {
        let any = || ValueType::new(DType::F32, vec![DimExpr::constant(1); MAX_RANK]);
        self.g.type_of(x).unwrap_or_else(any)
    }

    /// The extents of a value.
    pub fn shape(&self, x: Value) -> Vec<DimExpr> {
        self.ty(x).shape.to_vec()
    }

    /// \[B, H, S, ·\] of a value in the op's layout, or back.
    pub fn in_order(&self, x: Value) -> Value {
        if self.op.layout == AttentionLayout::Bhsd { x } else { self.g.transpose(x, &[0, 2, 1, 3]) }
    }

    /// The dropout of its probabilities.
    pub fn dropout(&self) -> Dropout {
        Dropout { ratio: self.op.dropout, training: true, stream: self.op.stream }
    }

    /// Where that draws its numbers.
    pub fn source(&self) -> [Value; 3] {
        [DROPOUT, DROPOUT + 1, DROPOUT + 2].map(|i| self.x(i))
    }

    /// B, Hkv, the query heads of a key head, Sq.
    fn extents(&self) -> [DimExpr; 4] {
        let axes = self.op.layout.axes();
        let of = |i: usize, axis: usize| self.shape(self.x(i))[axes[axis]].clone();
        let heads = [0, 1].map(|i| of(i, 1).as_const().filter(|&n| n > 0).unwrap_or(1));
        [of(0, 0), of(1, 1), DimExpr::constant(heads[0] / heads[1]), of(0, 2)]
    }

    /// Queries, keys and values in f32 and in the order batch, heads, sequence, width; zeros for what no query may see.
    fn factors(&self, allowed: &Allowed<'_>, extents: &[DimExpr; 4]) -> [Value; 3] {
        let g = self.g;
        let [q, k, v] = [0, 1, 2].map(|i| wide(g, self.in_order(self.x(i))));
        let Some(seen) = allowed.seen(extents) else { return [q, k, v] };
        let [k, v] = [k, v].map(|x| g.select(seen, x, g.constant_scalar(DType::F32, 0.0)));
        [q, k, v]
    }
}

/// An attention in f32, its operands in the order batch, heads, sequence, width.
pub(super) struct Formula<'a> {
    pub given: Given<'a>,
    pub allowed: Allowed<'a>,
    pub q: Value,
    pub k: Value,
    pub v: Value,
    extents: [DimExpr; 4],
}

/// Scores, −Inf where a key is not allowed, and t, where there is a cap.
pub(super) struct Scores {
    pub scores: Value,
    pub capped: Option<Value>,
}

/// e^(s − largest) for each key, their sum with the sink's, and the largest score.
pub(super) struct Sums {
    pub terms: Value,
    pub sum: Value,
    pub largest: Value,
}

impl<'a> Formula<'a> {
    /// Of a node, its factors as `hold` gives them. With `shifts`, scores may be less by one number for each query.
    pub fn new(given: Given<'a>, shifts: bool, hold: impl Fn(Value) -> Value) -> Formula<'a> {
        let (extents, allowed) = (given.extents(), Allowed::new(given, shifts));
        let [q, k, v] = given.factors(&allowed, &extents).map(hold);
        Formula { given, allowed, q, k, v, extents }
    }

    /// s and t.
    pub fn scores(&self) -> Scores {
        let (g, cap) = (self.given.g, self.given.op.softcap);
        let products = self.scaled(self.heads(self.product([self.rows(self.q), self.k], false, true)));
        let (mut scores, mut capped) = (products, None);
        if cap > 0.0 {
            let bounded = g.tanh(g.div(products, g.constant_scalar(DType::F32, f64::from(cap))));
            capped = Some(bounded);
            scores = g.affine(bounded, cap, 0.0);
        }
        for added in self.allowed.added() {
            scores = g.add(scores, added);
        }
        let none = g.constant_scalar(DType::F32, f64::NEG_INFINITY);
        let scores = self.allowed.keys().map_or(scores, |allowed| g.select(allowed, scores, none));
        Scores { scores, capped }
    }

    /// Sums from the largest score on. Of a query that sees nothing every score is −Inf, and the sum is 0.
    pub fn sums(&self, scores: Value) -> Sums {
        let g = self.given.g;
        let sink = self.given.opt(SINKS).map(|sinks| g.unsqueeze(wide(g, sinks), &[1, 2]));
        let largest = [Some(g.reduce_max(scores, &[3], true)), sink, Some(self.lowest())];
        let largest = g.stop_gradient(g.max(&largest.into_iter().flatten().collect::<Vec<_>>()));
        let terms = g.exp(g.sub(scores, largest));
        let sum = g.reduce_sum(terms, &[3], true);
        let sum = sink.map_or(sum, |sink| g.add(sum, g.exp(g.sub(sink, largest))));
        Sums { terms, sum, largest }
    }

    /// Probabilities of sums; 0 where there is nothing.
    pub fn shares(&self, Sums { terms, sum, .. }: &Sums) -> Value {
        let g = self.given.g;
        g.div(*terms, g.max(&[*sum, g.constant_scalar(DType::F32, f64::from(f32::MIN_POSITIVE))]))
    }

    /// The smallest finite number.
    pub fn lowest(&self) -> Value {
        self.given.g.constant_scalar(DType::F32, f64::from(f32::MIN))
    }

    /// A value times the scale of products. 1/√D is computed where it is used: rounded to f32 it would move a large
    /// score, and its exponential by more, from what the op itself says unrounded.
    pub fn scaled(&self, x: Value) -> Value {
        let (g, q) = (self.given.g, self.given.x(0));
        if let Some(scale) = self.given.op.scale {
            return g.affine(x, scale, 0.0);
        }
        let width = match self.given.shape(q)[3].as_extent() {
            Some(width) => g.constant_scalar(DType::F32, width as f64),
            None => g.cast(g.extent(q, 3), DType::F32),
        };
        g.mul(x, g.rsqrt(width))
    }

    /// The product of two batches of matrices, rounded as the op's.
    pub fn product(&self, factors: [Value; 2], trans_a: bool, trans_b: bool) -> Value {
        self.given.g.apply(MatMul { trans_a, trans_b, rounding: self.given.op.rounding }, &factors)
    }

    /// \[B, Hq, Sq, ·\] as \[B, Hkv, group·Sq, ·\].
    pub fn rows(&self, x: Value) -> Value {
        let [b, heads, group, s] = &self.extents;
        let last = self.given.shape(x)[3].clone();
        if group.is(1) {
            return x;
        }
        self.given.g.reshape_to(x, vec![b.clone(), heads.clone(), group * s, last])
    }

    /// \[B, Hkv, group·Sq, ·\] as \[B, Hq, Sq, ·\].
    pub fn heads(&self, x: Value) -> Value {
        let [b, heads, group, s] = &self.extents;
        let last = self.given.shape(x)[3].clone();
        if group.is(1) {
            return x;
        }
        self.given.g.reshape_to(x, vec![b.clone(), heads * group, s.clone(), last])
    }

    /// e^(s − lse), by the forward op's result. Of a query that sees nothing every score and lse are −Inf.
    pub fn probabilities(&self, scores: Value, lse: Value) -> Value {
        let g = self.given.g;
        g.exp(g.sub(scores, g.max(&[g.unsqueeze(lse, &[3]), self.lowest()])))
    }

    /// dp, of the gradient of the result, 0 where a key is not allowed, as `kept` leaves it.
    pub fn of_values(&self, dy: Value, kept: impl Fn(Value) -> Value) -> Value {
        let g = self.given.g;
        let dp = kept(self.heads(self.product([self.rows(dy), self.v], false, true)));
        let zero = g.constant_scalar(DType::F32, 0.0);
        self.allowed.keys().map_or(dp, |allowed| g.select(allowed, dp, zero))
    }

    /// dz = scale·ds·(1 − t²).
    pub fn of_products(&self, ds: Value, capped: Option<Value>) -> Value {
        let g = self.given.g;
        let slope = capped.map(|t| g.affine(g.square(t), -1.0, 1.0));
        self.scaled(slope.map_or(ds, |slope| g.mul(ds, slope)))
    }

    /// dq, of the rows of dz.
    pub fn by_queries(&self, dz: Value) -> Value {
        self.heads(self.product([dz, self.k], false, false))
    }

    /// dk, of the rows of dz.
    pub fn by_keys(&self, dz: Value) -> Value {
        self.product([dz, self.rows(self.q)], true, false)
    }

    /// dv, of what is left of the probabilities and the gradient of the result.
    pub fn by_values(&self, p: Value, dy: Value) -> Value {
        self.product([p, dy].map(|v| self.rows(v)), true, false)
    }
}
