//! `AttentionGrad`: gradients of an attention by its queries, or by its keys and values.

use super::attention::{Attention, AttentionLayout};
use super::attention_formula::{Formula, Given};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::composed::composed;
use crate::ops::{Grad, OpDef, Rounding};
use crate::sample::Sample;
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// What an attention is differentiated by.
    pub enum AttentionFactor {
        /// Its queries.
        Queries = "queries",
        /// Its keys and its values.
        KeysAndValues = "keys_values",
    }
}

crate::op! {
    /// With s and the allowed keys of `Attention`, whose attributes these are, p = e^(s − `lse`), dp = `dy`·vᵀ, ds =
    /// p·(dp − `delta`) and t = tanh(scale·⟨q, k⟩/softcap): dq = Σ scale·ds·(1 − t²)·k over the allowed keys, or dk =
    /// Σ scale·ds·(1 − t²)·q and dv = Σ p·`dy` over the queries that see the key, of every head of its group.
    ///
    /// Without a softcap there is no factor 1 − t². `lse` is the logarithm of each query's sum, f32 \[B, Hq, Sq\];
    /// −Inf counts as the smallest finite number, so that a query without an allowed key gives zeros. `delta`, of the
    /// same type, is Σ dy·y over the width, less the gradient of `lse`. All floats are f32; `dy` is in the op's layout.
    /// What is not allowed is not read as a value: NaN there has no effect.
    ///
    /// With a rounding it is what it is made of, whose products round what they multiply: p and ds, too.
    pub struct AttentionGrad {
        /// By what: dq is the result, or dk and dv are.
        of: AttentionFactor = AttentionFactor::Queries,
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
    }
}

/// Operands by their numbers.
pub const DY: usize = 3;
/// Logarithms of sums.
pub const LSE: usize = 4;
/// What is subtracted from dp.
pub const DELTA: usize = 5;
/// Which keys are allowed, or what is added to scores.
pub const MASK: usize = 6;
/// How many keys there are.
pub const LENGTH: usize = 7;
/// The first queries' places.
pub const OFFSET: usize = 8;

impl AttentionGrad {
    /// Of this attention.
    pub fn of(attention: &Attention, of: AttentionFactor) -> AttentionGrad {
        let Attention { layout, scale, causal, left, right, softcap, rounding, .. } = attention.clone();
        AttentionGrad { of, layout, scale, causal, left, right, softcap, rounding }
    }

    /// The attention whose gradients these are.
    pub fn attention(&self) -> Attention {
        let AttentionGrad { of: _, layout, scale, causal, left, right, softcap, rounding } = self.clone();
        Attention { layout, scale, causal, left, right, softcap, rounding, ..Attention::default() }
    }
}

impl OpDef for AttentionGrad {
    const OPERANDS: &'static [&'static str] =
        &["q", "k", "v", "dy", "lse", "delta", "mask?", "kv_len?", "offset?"];
    const GRAD: Grad<Self> = Grad::Expansion;
    crate::rounds_factors!(4);
    const STEERS: &'static [&'static str] = &["kv_len", "offset"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        (0..=DELTA).try_for_each(|i| cx.expect_dtype(i, &[DType::F32]).map(|_| ()))?;
        let whole = self.attention();
        let [b, hq, sq, sk, dv] = whole.check_factors(cx)?;
        let rows = [b.clone(), hq.clone(), sq.clone()];
        let mut result = vec![DimExpr::constant(0); 4];
        let of_result = rows.iter().chain([&dv]);
        self.layout
            .axes()
            .into_iter()
            .zip(of_result)
            .for_each(|(axis, extent)| result[axis] = extent.clone());
        expect_shape(cx, DY, &result)?;
        [LSE, DELTA].into_iter().try_for_each(|i| expect_shape(cx, i, &rows))?;
        whole.check_rules(cx, [MASK, LENGTH, OFFSET], [&b, &hq, &sq, &sk])?;
        let like = |i: usize| cx.ty(i).cloned();
        match self.of {
            AttentionFactor::Queries => Ok([like(0)?].into_iter().collect()),
            AttentionFactor::KeysAndValues => Ok([like(1)?, like(2)?].into_iter().collect()),
        }
    }

    fn samples() -> Vec<Sample> {
        super::attention_grad_samples::samples()
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// What it is made of where factors are rounded.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        if self.rounding.is_none() { None } else { self.composition(graph, id) }
    }

    fn composition(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        composed(graph, id, |g, operands| made(self, g, operands).unwrap_or_default())
    }
}

/// An operand has these extents.
fn expect_shape(cx: &Infer<'_>, i: usize, shape: &[DimExpr]) -> Result<(), OpError> {
    cx.expect_rank(i, shape.len())?;
    let of_operand = cx.ty(i)?.shape.iter().zip(shape).enumerate();
    of_operand.into_iter().try_for_each(|(axis, (given, wanted))| {
        cx.equal(given, wanted, &format!("axis {axis} of `{}` and what it belongs to", cx.name(i)))
    })
}

/// The results by other ops.
fn made(op: &AttentionGrad, g: &GraphBuilder, operands: &[Option<Value>]) -> Option<Vec<Value>> {
    let operand = |i: usize| operands.get(i).copied().flatten();
    let of_attention = [0, 1, 2, MASK, LENGTH, OFFSET].map(operand);
    let whole = op.attention();
    let g = g.composition("attention_grad");
    let given = Given::new(&whole, &g, &of_attention)?;
    let formula = Formula::new(given, false, |x| x);
    let scores = formula.scores();
    let dy = given.in_order(operand(DY)?);
    let p = formula.probabilities(scores.scores, operand(LSE)?);
    let dz = || {
        let dp = formula.of_values(dy, |dp| dp);
        let ds = g.mul(p, g.sub(dp, g.unsqueeze(operand(DELTA)?, &[3])));
        Some(formula.rows(formula.of_products(ds, scores.capped)))
    };
    Some(match op.of {
        AttentionFactor::Queries => vec![given.in_order(formula.by_queries(dz()?))],
        AttentionFactor::KeysAndValues => {
            [formula.by_keys(dz()?), formula.by_values(p, dy)].map(|x| given.in_order(x)).to_vec()
        }
    })
}

impl GraphBuilder {
    /// Gradients of an attention of f32: of q\[B, Hq, Sq, D\] → dq, or of k\[B, Hkv, Sk, D\] and v\[B, Hkv, Sk, Dv\] →
    /// dk, dv. `operands` are q, k, v, dy, lse, delta, and mask, kv_len and offset where there are any.
    #[track_caller]
    pub fn attention_grad(&self, op: AttentionGrad, operands: &[Option<Value>]) -> Vec<Value> {
        self.apply_all(op, operands)
    }
}
