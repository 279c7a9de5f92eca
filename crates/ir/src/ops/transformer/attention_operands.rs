//! Attention with everything it takes: lengths, places, sinks, slopes, logarithms of sums; heads packed in rows.

use crate::builder::{GraphBuilder, Value, all_or_mistake};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Attention;
use crate::ops::attention::AttentionLayout;
use crate::ops::source::RandomSource;
use crate::shape::ValueType;
use pumice_types::DimExpr;

/// Operands of an attention besides queries, keys and values.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionOperands {
    /// Which keys are allowed (Bool), or what is added to scores (float): rank 2 to 4, broadcast to \[B, Hq, Sq, Sk\].
    pub mask: Option<Value>,
    /// How many keys there are: i32 \[\] or \[B\].
    pub kv_len: Option<Value>,
    /// The first query's place among the keys, `kv_len` − Sq if not given: i32 \[\] or \[B\].
    pub offset: Option<Value>,
    /// One more score for each query of a head, without a value: floats of \[Hq\].
    pub sinks: Option<Value>,
    /// What a key adds to a score for each place that it lies after the query (ALiBi, where it is positive and keys lie
    /// before): floats of \[Hq\].
    pub alibi: Option<Value>,
    /// Where an attention that drops probabilities draws; the graph's own source if not given.
    pub source: Option<RandomSource>,
}

impl GraphBuilder {
    /// Attention with any of its operands (ONNX Attention; `sinks` and `alibi` are none of ONNX's) → the result as of
    /// [`GraphBuilder::attention`], and lse, the logarithm of each query's sum: f32 \[B, Hq, Sq\]. A result that nobody
    /// reads costs nothing. [`Attention`] says the formula; `op.lse` is set.
    ///
    /// An attention with `dropout` draws from `operands.source`; its stream is `op.stream`, or one by the node's name
    /// where that is 0.
    ///
    /// Errors: as of [`Attention`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::Attention;
    /// # use pumice_ir::ops::attention_operands::AttentionOperands;
    /// let g = GraphBuilder::new("g");
    /// let qkv = ["q", "k", "v"].map(|name| g.input(name, f32([1, 4, 9, 16])));
    /// let operands = AttentionOperands { sinks: Some(g.param("sinks", f32([4]))), ..Default::default() };
    /// let (y, lse) = g.attention_with(qkv, operands, Attention { causal: true, ..Default::default() });
    /// g.output("y", y);
    /// g.output("lse", lse);
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn attention_with(
        &self,
        [q, k, v]: [Value; 3],
        operands: AttentionOperands,
        op: Attention,
    ) -> (Value, Value) {
        let AttentionOperands { mask, kv_len, offset, sinks, alibi, source } = operands;
        let given = [Some(q), Some(k), Some(v), mask, kv_len, offset, sinks, alibi];
        let results = self.attend(Attention { lse: true, ..op }, &given, source);
        let [y, lse] = all_or_mistake(&results);
        (y, lse)
    }

    /// Attention of heads that lie in one row side by side (ONNX Attention of rank 3): q\[B, Sq, Hq·D\], k\[B, Sk,
    /// Hkv·D\], v\[B, Sk, Hkv·Dv\] → \[B, Sq, Hq·Dv\], and lse as of [`GraphBuilder::attention_with`]. Heads are views,
    /// nothing is copied. `heads` are Hq and Hkv; `op.layout` is set.
    ///
    /// Errors: another rank than 3; widths that are no multiples of the heads, or symbolic; those of [`Attention`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::Attention;
    /// let g = GraphBuilder::new("g");
    /// let (q, k) = (g.input("q", f32([1, 9, 64])), g.input("k", f32([1, 9, 32])));
    /// let (y, _) = g.attention_packed([q, k, k], [4, 2], Default::default(), Attention::default());
    /// g.output("y", y);
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn attention_packed(
        &self,
        qkv: [Value; 3],
        heads: [u64; 2],
        operands: AttentionOperands,
        op: Attention,
    ) -> (Value, Value) {
        const METHOD: &str = "attention_packed";
        let of = [heads[0], heads[1], heads[1]];
        let checked = self.checked_operands(METHOD, &["q", "k", "v"], &qkv, |cx| {
            (0..3).try_for_each(|i| packed(cx, i, of[i]))
        });
        let types = match checked {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let apart = [0, 1, 2].map(|i| g.reshape_to(qkv[i], heads_apart(&types[i], of[i])));
        let op = Attention { layout: AttentionLayout::Bshd, ..op };
        let (y, lse) = g.attention_with(apart, operands, op);
        let width = heads_apart(&types[2], of[2])[3].clone();
        let [b, s] = [0, 1].map(|axis| types[0].shape[axis].clone());
        (g.last().reshape_to(y, vec![b, s, width * heads[0]]), lse)
    }
}

/// Rows of so many heads: batch, sequence, heads, width.
fn heads_apart(ty: &ValueType, heads: u64) -> Vec<DimExpr> {
    let width = ty.shape[2].as_extent().unwrap_or(0) / heads;
    vec![ty.shape[0].clone(), ty.shape[1].clone(), heads.into(), width.into()]
}

/// An operand has rows of so many heads.
fn packed(cx: &Infer<'_>, i: usize, heads: u64) -> Result<(), OpError> {
    cx.expect_rank(i, 3)?;
    let width = cx.constant_extent(&cx.ty(i)?.shape[2], "the width of packed heads")?;
    if heads == 0 || width % heads != 0 {
        let name = cx.name(i);
        return Err(OpError::Invalid(format!("rows of `{name}` have {width} elements: no {heads} heads")));
    }
    Ok(())
}
