//! Which keys a query of an `Attention` sees and what is added to its scores, made of ops.

use super::attention::{ALIBI, LENGTH, OFFSET, SINKS};
use super::attention_formula::Given;
use crate::builder::Value;
use crate::ops::gradient::wide;
use pumice_types::{DType, DimExpr};

/// Beyond every place.
const FAR: i64 = 1 << 33;

/// Rules of masking of a node.
pub(super) struct Allowed<'a> {
    given: Given<'a>,
    /// Whether scores may be less by one number for each query.
    shifts: bool,
    sq: DimExpr,
    sk: DimExpr,
    /// The mask over all keys, a float one in f32.
    mask: Option<Value>,
    /// Bool that broadcasts to \[B, Hq, Sq, Sk\]; none where all keys are allowed.
    keys: Option<Value>,
}

impl<'a> Allowed<'a> {
    /// Of a node; `shifts` says that nobody asks for more of its scores than their probabilities.
    pub fn new(given: Given<'a>, shifts: bool) -> Allowed<'a> {
        let rows = given.op.layout.axes()[2];
        let [sq, sk] = [0, 1].map(|i| given.shape(given.x(i))[rows].clone());
        let mut allowed = Allowed { given, shifts, sq, sk, mask: None, keys: None };
        allowed.mask = given.opt(3).map(|mask| allowed.over_all_keys(mask));
        let rules = [allowed.by_length(), allowed.by_window(), allowed.by_mask()];
        allowed.keys = rules.into_iter().flatten().reduce(|a, b| given.g.and(a, b));
        allowed
    }

    /// Which keys are allowed, if not all are.
    pub fn keys(&self) -> Option<Value> {
        self.keys
    }

    /// Whether any query of the key head sees a key, that broadcasts to \[B, Hkv, Sk, 1\]; of extents B, Hkv, the
    /// query heads of a key head, Sq.
    pub fn seen(&self, extents: &[DimExpr; 4]) -> Option<Value> {
        let (g, keys) = (self.given.g, self.keys?);
        let rank = self.given.ty(keys).rank();
        let ones: Vec<i64> = (0..4i64.saturating_sub(rank as i64)).collect();
        let keys = if ones.is_empty() { keys } else { g.unsqueeze(keys, &ones) };
        Some(g.unsqueeze(self.by_any_query(keys, extents), &[3]))
    }

    /// Of keys of rank 4 whether any query of the key head sees them: broadcasts to \[B, Hkv, Sk\].
    fn by_any_query(&self, keys: Value, [_, heads, group, _]: &[DimExpr; 4]) -> Value {
        let (g, shape) = (self.given.g, self.given.shape(keys));
        if shape[1].is(1) {
            return g.reduce_any(keys, &[2], false);
        }
        let [b, _, s, sk] = [0, 1, 2, 3].map(|axis| shape[axis].clone());
        let apart = g.reshape_to(keys, vec![b, heads.clone(), group.clone(), s, sk]);
        g.reduce_any(apart, &[2, 3], false)
    }

    /// What is added to scores: a float mask, alibi\[h\]·(j − place), where `is_shifted` says so without the offset.
    pub fn added(&self) -> Vec<Value> {
        let (g, given) = (self.given.g, self.given);
        let mask = self.mask.filter(|&mask| given.ty(mask).dtype() == DType::F32);
        let bias = given
            .opt(ALIBI)
            .map(|slopes| g.mul(g.unsqueeze(wide(g, slopes), &[1, 2]), g.cast(self.distances(), DType::F32)));
        [mask, bias].into_iter().flatten().collect()
    }

    /// Whether scores are those of the op but for one number for each query, which no probability depends on.
    pub fn is_shifted(&self) -> bool {
        self.shifts && self.given.opt(ALIBI).is_some() && self.given.opt(SINKS).is_none()
    }

    /// j − (i + offset), or j − i where scores may be shifted: a far place would take their precision.
    fn distances(&self) -> Value {
        let g = self.given.g;
        if self.is_shifted() {
            return g.sub(self.numbers(), g.unsqueeze(g.range(0u64, self.sq.clone(), 1, DType::I32), &[1]));
        }
        g.sub(g.range(0u64, self.sk.clone(), 1, DType::I64), self.places())
    }

    /// The numbers of keys: i32 \[Sk\].
    fn numbers(&self) -> Value {
        self.given.g.range(0u64, self.sk.clone(), 1, DType::I32)
    }

    /// A count of rank 0 or \[B\], that broadcasts to \[B, Hq, Sq, Sk\].
    fn count(&self, i: usize) -> Option<Value> {
        let count = self.given.opt(i)?;
        let shape = self.given.shape(count);
        Some(if shape.is_empty() { count } else { self.given.g.unsqueeze(count, &[1, 2, 3]) })
    }

    /// j < kv_len.
    fn by_length(&self) -> Option<Value> {
        let length = self.count(LENGTH)?;
        Some(self.given.g.less(self.numbers(), length))
    }

    /// i + offset in i64: \[Sq, 1\] or \[B, 1, Sq, 1\].
    fn places(&self) -> Value {
        let (g, q) = (self.given.g, self.given.x(0));
        let rows = g.unsqueeze(g.range(0u64, self.sq.clone(), 1, DType::I64), &[1]);
        if let Some(offset) = self.count(OFFSET) {
            return g.add(rows, g.cast(offset, DType::I64));
        }
        let Some(length) = self.count(LENGTH) else { return rows };
        let queries = g.extent(q, self.given.op.layout.axes()[2] as i64);
        let [length, queries] = [length, queries].map(|v| g.cast(v, DType::I64));
        g.add(rows, g.sub(length, queries))
    }

    /// place − left ≤ j ≤ place + right, and ≤ place where the attention is causal.
    fn by_window(&self) -> Option<Value> {
        let (g, op) = (self.given.g, self.given.op);
        let far = |n: i64| n.min(FAR);
        let right = (op.right >= 0).then(|| far(op.right));
        let right = if op.causal { Some(0) } else { right };
        let first = (op.left >= 0).then(|| g.greater_or_equal(self.numbers(), self.bound(-far(op.left))));
        let last = right.map(|right| g.less_or_equal(self.numbers(), self.bound(right)));
        [first, last].into_iter().flatten().reduce(|a, b| g.and(a, b))
    }

    /// place + by, found in i64 and held to what can be compared in i32.
    fn bound(&self, by: i64) -> Value {
        let g = self.given.g;
        let number = |v: i64| g.constant_scalar(DType::I64, v as f64);
        let moved = if by == 0 { self.places() } else { g.add(self.places(), number(by)) };
        let held = g.max(&[g.min(&[moved, number(i64::from(i32::MAX))]), number(-1)]);
        g.cast(held, DType::I32)
    }

    /// True, or above −Inf.
    fn by_mask(&self) -> Option<Value> {
        let mask = self.mask?;
        let none = self.given.g.constant_scalar(DType::F32, f64::NEG_INFINITY);
        let is_bool = self.given.ty(mask).dtype() == DType::Bool;
        Some(if is_bool { mask } else { self.given.g.not_equal(mask, none) })
    }

    /// The mask with keys beyond it, which are not allowed.
    fn over_all_keys(&self, mask: Value) -> Value {
        let g = self.given.g;
        let (mask, missing) = match self.given.ty(mask).dtype() {
            DType::Bool => (mask, g.constant_scalar(DType::Bool, 0.0)),
            _ => (wide(g, mask), g.constant_scalar(DType::F32, f64::NEG_INFINITY)),
        };
        match self.given.shape(mask).last() {
            Some(keys) if *keys != self.sk => self.lengthened(mask, missing, keys),
            _ => mask,
        }
    }

    /// A mask of so many keys with `missing` for all others.
    fn lengthened(&self, mask: Value, missing: Value, keys: &DimExpr) -> Value {
        let g = self.given.g;
        let longer = |by: i64| {
            let mut shape = self.given.shape(mask);
            shape.pop();
            shape.push(DimExpr::constant(by));
            g.concat(&[mask, g.expand_to(missing, shape)], -1)
        };
        if let (Some(keys), Some(all)) = (keys.as_const(), self.sk.as_const()) {
            return longer((all - keys).max(0));
        }
        // One more column, which all keys beyond the mask read.
        g.gather(longer(1), g.min(&[self.numbers(), g.extent(mask, -1)]), -1)
    }
}
