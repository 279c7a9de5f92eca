//! `LinearRecurrence`: a matrix for each head that is taken from step to step. What linear attention and state-space
//! models are made of.

use super::parts::{Parts, result};
use super::sequence::{expect_optional, expect_shape};
use crate::builder::{GraphBuilder, Value, all_or_mistake};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::def::expansion;
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::ValueType;
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

/// Steps that one node takes: drivers may end longer loops.
const STEPS: u64 = 2048;
/// The operands that have steps: all but rates and state.
const STEPPED: [usize; 5] = [0, 1, 2, 3, 5];

crate::op! {
    /// For each batch and head of v a matrix S of keys times values, for each step t: S = e^g·S, S = S + β·k⊗v, or
    /// where `delta` S + β·k⊗(v − Sᵀk) of the decayed S, and o = scale·Sᵀq of the new one.
    ///
    /// f32 operands q\[B, T, Hq, K\], k\[B, T, Hk, K\], v\[B, T, H, V\]; log decays g of \[B, T, H\] or \[B, T, H, K\],
    /// or of \[B, T, H\] times rates\[H, K\], 0 if not given; β of \[B, T, H\] or \[B, T, 1\], 1 if not given;
    /// S before the first step, 0 if not given → o\[B, T, max(H, Hq), V\] and S after the last one. Head h of H reads
    /// head ⌊h·Hk/H⌋ of k and ⌊h·Hq/H⌋ of q; where Hq is a multiple of H, Hq/H heads of q read one S. S is \[B, H, K,
    /// V\], with `by_value` \[B, H, V, K\]. Without steps S stays. NaN propagates.
    pub struct LinearRecurrence {
        /// Whether what S knows of v is taken from it first.
        delta: bool = false,
        /// Factor of the result.
        scale: f32 = 1.0 => FINITE,
        /// Whether S has values before keys.
        by_value: bool = false,
    }
}

impl Default for LinearRecurrence {
    fn default() -> LinearRecurrence {
        LinearRecurrence { delta: false, scale: 1.0, by_value: false }
    }
}

impl OpDef for LinearRecurrence {
    const OPERANDS: &'static [&'static str] = &["q", "k", "v", "decay?", "rates?", "beta?", "state?"];
    const GRAD: Grad<Self> = Grad::No("scans have none yet");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        expect_sequences(cx)?;
        let heads = DimExpr::from(expect_heads(cx)?);
        expect_decay(cx)?;
        expect_beta(cx)?;
        let (v, keys) = (&cx.ty(2)?.shape, &cx.ty(0)?.shape[3]);
        let mut state = [&v[0], &v[2], keys, &v[3]];
        if self.by_value {
            state.swap(2, 3);
        }
        expect_optional(cx, 6, &state)?;
        let typed = |shape: [&DimExpr; 4]| ValueType::new(DType::F32, shape.map(DimExpr::clone));
        Ok(smallvec::smallvec![typed([&v[0], &v[1], &heads, &v[3]]), typed(state)])
    }

    fn samples() -> Vec<Sample> {
        super::linear_recurrence_samples::samples()
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let of_q = &graph.ty(graph.node(id).input(0)?).shape;
        let parts = Parts::of(graph, 1, &of_q[1], STEPS)?;
        Some(self.in_parts(graph, id, &parts))
    }
}

impl LinearRecurrence {
    /// Steps in parts, each of which begins with the state that the one before it leaves.
    fn in_parts(&self, graph: &Graph, id: NodeId, parts: &Parts) -> Patch {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = expansion(graph, id);
        let mut inputs: Vec<Option<PatchRef>> = (0..7).map(|i| node.input(i).map(PatchRef::Old)).collect();
        let mut split: Vec<(usize, Vec<PatchRef>)> = Vec::new();
        for (i, x) in STEPPED.into_iter().filter_map(|i| Some((i, inputs[i]?))) {
            split.push((i, parts.split(&mut patch, name, x)));
        }
        let mut outputs = Vec::new();
        for part in 0..parts.sizes.len() {
            split.iter().for_each(|(i, of)| inputs[*i] = Some(of[part]));
            let o = patch.add_opt(self.clone(), format!("{name}.steps"), inputs.clone());
            outputs.push(o);
            inputs[6] = result(o, 1);
        }
        parts.join((graph, id), patch, &outputs, &[inputs[6]])
    }
}

/// q, k and v of one batch and as many steps, f32 all.
fn expect_sequences(cx: &Infer<'_>) -> Result<(), OpError> {
    for i in (0..cx.len()).filter(|&i| cx.opt(i).is_some()) {
        cx.expect_dtype(i, &[DType::F32])?;
    }
    for i in 0..3 {
        cx.expect_rank(i, 4)?;
        cx.equal(&cx.ty(0)?.shape[0], &cx.ty(i)?.shape[0], "batches of `q`, `k` and `v`")?;
        cx.equal(&cx.ty(0)?.shape[1], &cx.ty(i)?.shape[1], "steps of `q`, `k` and `v`")?;
    }
    cx.equal(&cx.ty(0)?.shape[3], &cx.ty(1)?.shape[3], "keys of `q` and of `k`")
}

/// Heads of the result.
fn expect_heads(cx: &Infer<'_>) -> Result<u64, OpError> {
    let extent = |i: usize, axis: usize, what: &str| cx.constant_extent(&cx.ty(i)?.shape[axis], what);
    let (hq, hk, h) = (
        extent(0, 2, "the heads of `q`")?,
        extent(1, 2, "the heads of `k`")?,
        extent(2, 2, "the heads of `v`")?,
    );
    let widths = [extent(0, 3, "the keys")?, extent(2, 3, "the values")?];
    if widths.contains(&0) || hq == 0 || hk == 0 || h == 0 {
        return Err(OpError::Invalid("no heads, no keys or no values".into()));
    }
    if hk > h || hq > h && hq % h != 0 {
        let why = format!("{hq} heads of `q` and {hk} of `k` do not go with {h} of `v`");
        return Err(OpError::Invalid(why));
    }
    Ok(hq.max(h))
}

/// Decays of heads or keys, and rates only with those of heads.
fn expect_decay(cx: &Infer<'_>) -> Result<(), OpError> {
    let (v, keys) = (&cx.ty(2)?.shape, &cx.ty(0)?.shape[3]);
    let rates = cx.opt(4).is_some();
    expect_optional(cx, 4, &[&v[2], keys])?;
    match cx.opt(3) {
        None if rates => Err(OpError::MissingOperand("decay")),
        None => Ok(()),
        Some(decay) if decay.rank() == 4 && !rates => expect_shape(cx, 3, &[&v[0], &v[1], &v[2], keys]),
        Some(_) => expect_shape(cx, 3, &[&v[0], &v[1], &v[2]]),
    }
}

/// One factor for each head, or one for all.
fn expect_beta(cx: &Infer<'_>) -> Result<(), OpError> {
    let Some(beta) = cx.opt(5) else { return Ok(()) };
    let (v, one) = (&cx.ty(2)?.shape, DimExpr::constant(1));
    let of_all = beta.rank() == 3 && beta.shape[2].is(1);
    expect_shape(cx, 5, &[&v[0], &v[1], if of_all { &one } else { &v[2] }])
}

/// Operands of [`GraphBuilder::linear_recurrence`] that may be absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecurrenceOptions {
    /// Log decays: \[B, T, H\] or \[B, T, H, K\].
    pub decay: Option<Value>,
    /// Factors of the decays, \[H, K\].
    pub rates: Option<Value>,
    /// Factors of what is added: \[B, T, H\] or \[B, T, 1\].
    pub beta: Option<Value>,
    /// The state before the first step.
    pub state: Option<Value>,
}

impl GraphBuilder {
    /// A matrix for each head taken from step to step: q\[B, T, Hq, K\], k\[B, T, Hk, K\], v\[B, T, H, V\] of f32 →
    /// o\[B, T, max(H, Hq), V\] and the last state. Models call [`GraphBuilder::gated_delta_net`],
    /// [`GraphBuilder::mamba2`] or [`GraphBuilder::selective_scan`], which are made of it.
    #[track_caller]
    pub fn linear_recurrence(
        &self,
        [q, k, v]: [Value; 3],
        options: RecurrenceOptions,
        op: LinearRecurrence,
    ) -> (Value, Value) {
        let RecurrenceOptions { decay, rates, beta, state } = options;
        let results = self.apply_all(op, &[Some(q), Some(k), Some(v), decay, rates, beta, state]);
        let [y, last] = all_or_mistake(&results);
        (y, last)
    }
}
