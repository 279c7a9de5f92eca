//! `Attention`: softmax of scaled products over the allowed keys, times the values.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::source::{RandomSource, expect_source};
use crate::ops::{Dropout, Grad, NodeCx, Op, OpDef, Rounding, Transpose, Untransposed};
use crate::sample::Sample;
use crate::shape::ValueType;
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// Order of the four axes of queries, keys, values and result.
    pub enum AttentionLayout {
        /// Batch, heads, sequence, width.
        Bhsd = "bhsd",
        /// Batch, sequence, heads, width.
        Bshd = "bshd",
    }
}

impl AttentionLayout {
    /// The layout with heads and sequence exchanged.
    pub fn other(self) -> AttentionLayout {
        match self {
            AttentionLayout::Bhsd => AttentionLayout::Bshd,
            AttentionLayout::Bshd => AttentionLayout::Bhsd,
        }
    }

    /// The axes of batch, heads, sequence and width.
    pub const fn axes(self) -> [usize; 4] {
        match self {
            AttentionLayout::Bhsd => [0, 1, 2, 3],
            AttentionLayout::Bshd => [0, 2, 1, 3],
        }
    }
}

crate::op! {
    /// y = softmax(s)·v over the allowed keys (ONNX Attention). Key head of query head h: ⌊h·Hkv/Hq⌋.
    ///
    /// With total = `kv_len` (or Sk) and offset = `offset`, or `kv_len` − Sq, or 0, key j is allowed for query i
    /// where j < total, and `causal` → j ≤ i + offset, `left` ≥ 0 → j ≥ i + offset − left, `right` ≥ 0 → j ≤ i +
    /// offset + right, and the mask is true (Bool) or above −Inf (float). s = scale·⟨q, k⟩, then
    /// softcap·tanh(s/softcap) if softcap > 0, then plus the float mask, plus `alibi`\[h\]·(j − (i + offset)).
    /// `sinks`\[h\] is one more score of every query of head h, which takes part in the softmax and has no value; NaN
    /// or +Inf there makes NaN. A query without any allowed key gives zeros. What is not allowed is not read as a
    /// value: NaN there has no effect.
    ///
    /// The mask has rank 2 to 4 and broadcasts to \[B, Hq, Sq, ·\]; its last axis may be shorter than Sk, the keys
    /// beyond it are then not allowed. `kv_len` and `offset` are i32, rank 0 or \[B\], `sinks` and `alibi` floats of
    /// \[Hq\]. Keys and values may be versions of a state in another float dtype than the queries.
    ///
    /// With `lse`, a second result is the logarithm of each query's sum, ln Σ e^s with the sink among the scores: f32
    /// \[B, Hq, Sq\] in either layout, −Inf where there is neither a key nor a sink. If nobody reads it, it is not
    /// made.
    ///
    /// With `dropout`, p = softmax(s) is dropped after the sum that divides it, as [`Dropout`] of
    /// training drops p\[B, Hq, Sq, Sk\]: p of key j is element ((b·Hq + h)·Sq + i)·Sk + j. Then there is a source of
    /// random numbers, the op is what it is made of, and NaN among the values of a key that some query sees is read for
    /// every query.
    pub struct Attention {
        /// Order of the axes.
        layout: AttentionLayout = AttentionLayout::Bhsd,
        /// Factor of the products; 1/√D if not given.
        scale: Option<f32> = None => FINITE,
        /// Whether a query sees no later key.
        causal: bool = false,
        /// How many keys before its own place a query sees; −1: all.
        left: i64 = -1,
        /// How many keys after its own place a query sees; −1: all.
        right: i64 = -1,
        /// Bound of the products; 0: none.
        softcap: f32 = 0.0 => NOT_NEGATIVE,
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
        /// Whether the logarithms of the sums are a result, too.
        lse: bool = false,
        /// Share of probabilities that are dropped; 0: none, and no source.
        dropout: f32 = 0.0 => SHARE,
        /// The stream of the numbers that say which.
        stream: u64 = 0 => WORD,
    }
}

impl Default for Attention {
    fn default() -> Attention {
        let layout = AttentionLayout::Bhsd;
        Attention {
            layout,
            scale: None,
            causal: false,
            left: -1,
            right: -1,
            softcap: 0.0,
            rounding: Rounding::None,
            lse: false,
            dropout: 0.0,
            stream: 0,
        }
    }
}

impl OpDef for Attention {
    const OPERANDS: &'static [&'static str] = &[
        "q",
        "k",
        "v",
        "mask?",
        "kv_len?",
        "offset?",
        "sinks?",
        "alibi?",
        "seed_low?",
        "seed_high?",
        "step?",
    ];
    const GRAD: Grad<Self> = Grad::Rule(super::attention_rule::rule);
    crate::rounds_factors!(3);
    const STEERS: &'static [&'static str] = &["kv_len", "offset"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.expect_dtype(1, FLOATS)?;
        cx.same_dtype(1, 2)?;
        let [b, hq, sq, sk, dv] = self.check_factors(cx)?;
        self.check_rules(cx, [MASK, LENGTH, OFFSET], [&b, &hq, &sq, &sk])?;
        [SINKS, ALIBI].into_iter().try_for_each(|i| check_heads(cx, i, &hq))?;
        self.check_source(cx, &b)?;
        let [_, _, _, width] = self.layout.axes();
        let mut shape = cx.ty(0)?.shape.to_vec();
        shape[width] = dv;
        let mut types = one(dtype, shape)?;
        types.extend(self.lse.then(|| ValueType::new(DType::F32, [b, hq, sq])));
        Ok(types)
    }

    fn samples() -> Vec<Sample> {
        super::attention_samples::samples()
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// The mask, but not along the keys: a last axis that is shorter means that the keys beyond it are not allowed.
    fn stretches(&self, cx: &NodeCx<'_>, operand: usize, from: ValueId) -> bool {
        let last = |v: ValueId| cx.graph.ty(v).shape.last().cloned().unwrap_or(DimExpr::constant(1));
        let is_mask = operand == 3 && cx.graph.ty(from).rank() >= 2;
        is_mask && cx.operand(3).is_some_and(|mask| last(mask) == last(from))
    }

    /// With P the exchange of heads and sequence: attention(P(q), P(k), P(v), layout) == P(attention(q, k, v, other
    /// layout)); whatever else there is does not change, the logarithms of sums neither.
    fn untransposed(&self, cx: &NodeCx<'_>) -> Option<Untransposed> {
        let of = |i| Some((i, cx.exchanged(i, 1, 2)?));
        let operands = [of(0)?, of(1)?, of(2)?].into_iter().collect();
        let op = Attention { layout: self.layout.other(), ..self.clone() };
        Some(Untransposed { op: op.into(), operands, after: Some(Transpose { perm: vec![0, 2, 1, 3] }) })
    }

    fn stream(&self) -> Option<u64> {
        self.drops().then_some(self.stream)
    }

    fn with_stream(&self, stream: u64) -> Option<Op> {
        self.drops().then(|| Attention { stream, ..self.clone() }.into())
    }

    fn drops_inside(&self, cx: &NodeCx<'_>) -> Option<(Op, Vec<DimExpr>)> {
        let op = Dropout { ratio: self.dropout, training: true, stream: self.stream };
        self.drops().then(|| (op.into(), self.probabilities(cx)))
    }

    /// The attention that drops nothing.
    fn for_inference(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let mut patch = Patch::new(format!("infer {}", graph.node_name(id)));
        let left = node.inputs.iter().take(DROPOUT).rposition(Option::is_some).map_or(0, |last| last + 1);
        let inputs = node.inputs.iter().take(left).map(|v| v.map(PatchRef::Old)).collect();
        let op = Attention { dropout: 0.0, stream: 0, ..self.clone() };
        let y = patch.add_opt(op, graph.node_name(id), inputs);
        for (&old, number) in node.outputs.iter().zip(0..) {
            patch.replace(old, y.result(number)?);
        }
        self.drops().then_some(patch)
    }

    /// The same without logarithms that nobody reads; what it is made of, where it drops probabilities.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        if self.drops() {
            return super::attention_composed::expand(self, graph, id);
        }
        let unread = self.lse && node.outputs.get(1).is_some_and(|&lse| !graph.is_read(lse));
        unread.then(|| {
            let mut patch = expansion(graph, id);
            let inputs = node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
            let op = Attention { lse: false, ..self.clone() };
            let y = patch.add_opt(op, graph.node_name(id), inputs);
            patch.replace(node.output(), y);
            patch
        })
    }
}

impl Attention {
    fn drops(&self) -> bool {
        self.dropout > 0.0
    }

    /// There is a source of random numbers exactly where probabilities are dropped; it may have rows of batch entries.
    fn check_source(&self, cx: &Infer<'_>, b: &DimExpr) -> Result<(), OpError> {
        if self.drops() {
            return expect_source(cx, DROPOUT, std::slice::from_ref(b));
        }
        match (DROPOUT..Self::OPERANDS.len()).any(|i| cx.opt(i).is_some()) {
            true => Err(OpError::Invalid("it drops nothing (`dropout` is 0), but has a source".into())),
            false => Ok(()),
        }
    }

    /// The extents of all probabilities.
    fn probabilities(&self, cx: &NodeCx<'_>) -> Vec<DimExpr> {
        let extent = |operand: usize, axis: usize| {
            let x = cx.operand(operand).map(|v| cx.graph.ty(v).shape[self.layout.axes()[axis]].clone());
            x.unwrap_or(DimExpr::constant(0))
        };
        vec![extent(0, 0), extent(0, 1), extent(0, 2), extent(1, 2)]
    }

    /// Queries, keys and values belong together, the first three operands: extents of batch, query heads, queries,
    /// keys, and the width of values.
    pub(super) fn check_factors(&self, cx: &Infer<'_>) -> Result<[DimExpr; 5], OpError> {
        (0..3).try_for_each(|i| cx.expect_rank(i, 4))?;
        let extents = |i: usize| cx.ty(i).map(|t| self.layout.axes().map(|a| &t.shape[a]));
        let ([b, hq, sq, d], [bk, hk, sk, dk], [bv, hv, sv, dv]) = (extents(0)?, extents(1)?, extents(2)?);
        cx.equal(b, bk, "batch of `q` and `k`")?;
        cx.equal(b, bv, "batch of `q` and `v`")?;
        cx.equal(hk, hv, "heads of `k` and `v`")?;
        cx.equal(sk, sv, "sequence of `k` and `v`")?;
        cx.equal(d, dk, "width of `q` and `k`")?;
        let query_heads = cx.constant_extent(hq, "the number of query heads")?;
        let key_heads = cx.constant_extent(hk, "the number of key heads")?;
        if key_heads == 0 || query_heads % key_heads != 0 {
            return Err(OpError::Invalid(format!(
                "{query_heads} query heads do not share {key_heads} key heads evenly; is the layout {:?} meant?",
                self.layout
            )));
        }
        Ok([b, hq, sq, sk, dv].map(Clone::clone))
    }

    /// Mask, length and place, operands of these numbers, fit extents of batch, query heads, queries and keys.
    pub(super) fn check_rules(
        &self,
        cx: &Infer<'_>,
        [mask, length, offset]: [usize; 3],
        [b, hq, sq, sk]: [&DimExpr; 4],
    ) -> Result<(), OpError> {
        check_mask(cx, mask, [b, hq, sq, sk])?;
        [length, offset].into_iter().try_for_each(|i| check_count(cx, i, b))
    }
}

/// An optional mask broadcasts to all scores.
fn check_mask(cx: &Infer<'_>, i: usize, [b, hq, sq, sk]: [&DimExpr; 4]) -> Result<(), OpError> {
    let Some(mask) = cx.opt(i) else { return Ok(()) };
    if mask.dtype() != DType::Bool && !mask.dtype().is_float() {
        let expected = "expected bool (allowed or not) or a float (added)".into();
        return Err(OpError::DType { operand: "mask", dtype: mask.dtype(), expected });
    }
    let Some((keys, leading)) = mask.shape.split_last().filter(|_| (2..=4).contains(&mask.rank())) else {
        return Err(OpError::Rank { operand: "mask", rank: mask.rank(), expected: "expected 2 to 4".into() });
    };
    cx.broadcast_to(leading, &[b.clone(), hq.clone(), sq.clone()])?;
    cx.at_most(keys, sk, "keys of the mask and of `k`")
}

/// Operands by their numbers.
pub const MASK: usize = 3;
/// How many keys there are.
pub const LENGTH: usize = 4;
/// The first queries' places.
pub const OFFSET: usize = 5;
/// One more score a head.
pub const SINKS: usize = 6;
/// Slopes of heads.
pub const ALIBI: usize = 7;

/// The source of random numbers begins here.
pub const DROPOUT: usize = 8;

/// An optional count is one for all, or one for each batch entry.
fn check_count(cx: &Infer<'_>, i: usize, b: &DimExpr) -> Result<(), OpError> {
    let Some(count) = cx.opt(i) else { return Ok(()) };
    cx.expect_dtype(i, &[DType::I32])?;
    match &*count.shape {
        [] => Ok(()),
        [n] => cx.equal(n, b, &format!("entries of `{}` and batch", cx.name(i))),
        shape => {
            let expected = "expected 0, or 1 with one for each batch entry".into();
            Err(OpError::Rank { operand: cx.name(i), rank: shape.len(), expected })
        }
    }
}

/// An optional operand has a float for each query head.
fn check_heads(cx: &Infer<'_>, i: usize, heads: &DimExpr) -> Result<(), OpError> {
    let Some(of_heads) = cx.opt(i) else { return Ok(()) };
    cx.expect_dtype(i, FLOATS)?;
    cx.expect_rank(i, 1)?;
    cx.equal(&of_heads.shape[0], heads, &format!("entries of `{}` and query heads", cx.name(i)))
}

impl GraphBuilder {
    /// Attention of q\[B, Hq, Sq, D\] over k\[B, Hkv, Sk, D\] and v\[B, Hkv, Sk, Dv\] → \[B, Hq, Sq, Dv\], or in the
    /// other layout; mask bool or float \[(B,) (Hq,) Sq, ≤ Sk\], kv_len i32 \[\] or \[B\].
    #[track_caller]
    pub fn attention(
        &self,
        q: Value,
        k: Value,
        v: Value,
        mask: Option<Value>,
        kv_len: Option<Value>,
        op: Attention,
    ) -> Value {
        if op.lse {
            let reason = "`attention` has one result; `attention_with` returns the log-sum-exp".to_owned();
            return self.wrong_call("attention", AttrError::Value { name: "lse", reason }.into());
        }
        self.attend(op, &[Some(q), Some(k), Some(v), mask, kv_len], None)[0]
    }

    /// The node, with a source and a stream where it drops probabilities: the graph's and one of the node's name,
    /// unless they are given.
    #[track_caller]
    pub(super) fn attend(
        &self,
        op: Attention,
        operands: &[Option<Value>],
        source: Option<RandomSource>,
    ) -> Vec<Value> {
        let drops = op.drops();
        let source = source.or_else(|| drops.then(|| self.random_source()));
        let Some(source) = source else { return self.apply_all(op, operands) };
        let mut all = operands.to_vec();
        all.resize(DROPOUT, None);
        all.extend(source.operands().map(Some));
        if !drops {
            return self.apply_all(op, &all);
        }
        let given = u32::try_from(op.stream).ok().filter(|&stream| stream > 0);
        self.apply_streamed("attention", given, |stream| Attention { stream, ..op }.into(), &all)
    }
}
