//! `AttentionParts`: attention over the keys of each part by itself.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::attention::{Attention, AttentionLayout};
use crate::ops::{Grad, OpDef, Rounding};
use crate::sample::Sample;
use pumice_types::{DType, DimExpr};

/// Neighbouring keys that belong to one part: key j is of part ⌊j / BLOCK⌋ mod parts.
pub const BLOCK: u64 = 64;
/// Columns beside the values: the largest score, the sum, two zeros.
pub const BESIDE: u64 = 4;

crate::op! {
    /// For each query and each part p of the keys: Σ e^(s − m)·v, m = max s, l = Σ e^(s − m), over the allowed keys of
    /// p.
    ///
    /// Everything else as in `Attention`, whose attributes these are. A part without an allowed key has m = −Inf and l
    /// = 0; one whose allowed keys all score −Inf has l = NaN and zeros for values. `AttentionMerge` makes one result
    /// of the parts.
    pub struct AttentionParts {
        /// Order of the axes of queries, keys and values.
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
        /// Number of parts.
        parts: i64 = 1,
    }
}

impl AttentionParts {
    /// An attention in so many parts.
    pub fn of(op: &Attention, parts: u64) -> AttentionParts {
        let Attention { layout, scale, causal, left, right, softcap, rounding, .. } = op.clone();
        AttentionParts { layout, scale, causal, left, right, softcap, rounding, parts: parts as i64 }
    }

    /// The attention whose parts these are.
    pub fn whole(&self) -> Attention {
        let AttentionParts { layout, scale, causal, left, right, softcap, rounding, .. } = self.clone();
        Attention { layout, scale, causal, left, right, softcap, rounding, ..Attention::default() }
    }
}

impl OpDef for AttentionParts {
    const OPERANDS: &'static [&'static str] = &["q", "k", "v", "mask?", "kv_len?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");
    crate::rounds_factors!(3);
    const STEERS: &'static [&'static str] = &["kv_len"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::F32])?;
        let whole = self.whole().infer(cx)?;
        if self.parts < 1 {
            return Err(OpError::Invalid(format!("{} parts", self.parts)));
        }
        let shape = &whole[0].shape;
        let [b, h, s, width] = self.layout.axes().map(|a| shape[a].clone());
        let parts = DimExpr::constant(self.parts);
        one(DType::F32, vec![b, h, s, parts, width + BESIDE])
    }

    fn samples() -> Vec<Sample> {
        super::attention_samples::samples_in_parts()
    }
}

impl GraphBuilder {
    /// Attention in parts of the keys: q\[B, Hq, Sq, D\], k\[B, Hkv, Sk, D\], v\[B, Hkv, Sk, Dv\], f32 queries →
    /// \[B, Hq, Sq, parts, Dv + 4\]; operands in the op's layout.
    #[track_caller]
    pub fn attention_parts(
        &self,
        q: Value,
        k: Value,
        v: Value,
        mask: Option<Value>,
        kv_len: Option<Value>,
        op: AttentionParts,
    ) -> Value {
        self.apply_all(op, &[Some(q), Some(k), Some(v), mask, kv_len])[0]
    }
}
