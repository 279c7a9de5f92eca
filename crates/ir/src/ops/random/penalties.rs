//! Logits that a history or a caller changes, as compositions.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::scatter::ScatterReduction;
use crate::ops::{Add, ScatterElements, Where};
use crate::shape::display_dim;
use pumice_types::{DType, DimExpr};

/// Logits \[B, V\], counts of the same shape, a penalty of rank 0 or \[B\].
fn counted(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_rank(0, 2)?;
    cx.expect_dtype(1, &[DType::I32, DType::I64])?;
    cx.expect_rank(1, 2)?;
    cx.same_dtype(0, 2)?;
    let logits = &cx.ty(0)?.shape;
    for (own, of_logits) in cx.ty(1)?.shape.iter().zip(logits.iter()) {
        cx.equal(own, of_logits, "an extent of the counts, and of the logits")?;
    }
    match &cx.ty(2)?.shape[..] {
        [] => Ok(()),
        [rows] => cx.equal(rows, &logits[0], "rows of the penalty, and of the logits"),
        _ => cx.expect_rank(2, 1),
    }
}

/// Logits \[B, V\], ids \[n\], biases \[n\].
fn biased(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_rank(0, 2)?;
    cx.expect_dtype(1, &[DType::I32, DType::I64])?;
    cx.expect_rank(1, 1)?;
    cx.same_dtype(0, 2)?;
    cx.expect_rank(2, 1)?;
    cx.equal(&cx.ty(1)?.shape[0], &cx.ty(2)?.shape[0], "how many ids, and how many biases")
}

/// Rule of ids\[B, n\] out of so many.
fn rows_of_ids(cx: &Infer<'_>, vocabulary: &DimExpr) -> Result<(), OpError> {
    cx.expect_dtype(0, &[DType::I32, DType::I64])?;
    cx.expect_rank(0, 2)?;
    if vocabulary.bounds(cx.symbols()).1 < 0 {
        let reason =
            format!("{} is negative; it is the number of ids", display_dim(vocabulary, cx.symbols()));
        return Err(AttrError::Value { name: "vocabulary", reason }.into());
    }
    Ok(())
}

impl GraphBuilder {
    /// How often each of `vocabulary` ids is in each row: i32 or i64 \[B, n\] → i32\[B, vocabulary\]. An id outside
    /// reports INDEX_OUT_OF_RANGE and counts for nothing.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, i32};
    /// let g = GraphBuilder::new("g");
    /// g.output("counts", g.token_counts(g.input("history", i32([2, 64])), 1000u64));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn token_counts(&self, ids: Value, vocabulary: impl Into<DimExpr>) -> Value {
        const METHOD: &str = "token_counts";
        let vocabulary = vocabulary.into();
        let rule = |cx: &Infer<'_>| rows_of_ids(cx, &vocabulary);
        let ty = match self.checked_operands(METHOD, &["ids"], &[ids], rule) {
            Ok(mut types) => types.swap_remove(0),
            Err(mistake) => return mistake,
        };
        let g = self.composition(METHOD);
        let number = |x: f64| g.constant_scalar(DType::I32, x);
        let zeros = g.fill(number(0.0), vec![ty.shape[0].clone(), vocabulary.clone()]);
        let ones = g.fill(number(1.0), ty.shape.to_vec());
        let add = ScatterElements { axis: 1, reduction: ScatterReduction::Add };
        g.last().apply(add, &[zeros, ids, ones])
    }

    /// Logits of ids that were seen made less likely (Keskar et al., *CTRL*, 2019): x / penalty where x > 0, x·penalty
    /// elsewhere, for every id whose count is above 0; others stay. logits\[B, V\], counts\[B, V\] of
    /// [`token_counts`](crate::GraphBuilder::token_counts), a penalty of rank 0 or \[B\] in the logits' dtype → the
    /// logits' type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let (logits, history) = (g.input("logits", f32([1, 1000])), g.input("history", i32([1, 64])));
    /// let counts = g.token_counts(history, 1000u64);
    /// let penalty = g.constant_scalar(DType::F32, 1.1);
    /// g.output("y", g.repetition_penalty(logits, counts, penalty));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn repetition_penalty(&self, logits: Value, counts: Value, penalty: Value) -> Value {
        const METHOD: &str = "repetition_penalty";
        const NAMES: &[&str] = &["logits", "counts", "penalty"];
        let types = match self.checked_operands(METHOD, NAMES, &[logits, counts, penalty], counted) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let g = self.composition(METHOD);
        let number = |dtype: DType| g.constant_scalar(dtype, 0.0);
        let penalty = if types[2].rank() == 1 { g.unsqueeze(penalty, &[1]) } else { penalty };
        let is_positive = g.greater(logits, number(types[0].dtype()));
        let less = g.select(is_positive, g.div(logits, penalty), g.mul(logits, penalty));
        let is_seen = g.greater(counts, number(types[1].dtype()));
        g.last().apply(Where {}, &[is_seen, less, logits])
    }

    /// A bias added to some logits of every row: logits\[B, V\], ids\[n\] of i32 or i64, bias\[n\] in the logits'
    /// dtype → the logits' type. Biases of one id are added; −∞ forbids it. A negative id counts from the end; one
    /// outside reports INDEX_OUT_OF_RANGE.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// let g = GraphBuilder::new("g");
    /// let logits = g.input("logits", f32([1, 1000]));
    /// let (ids, bias) = (g.input("ids", i32([3])), g.input("bias", f32([3])));
    /// g.output("y", g.logit_bias(logits, ids, bias));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn logit_bias(&self, logits: Value, ids: Value, bias: Value) -> Value {
        const METHOD: &str = "logit_bias";
        let types =
            match self.checked_operands(METHOD, &["logits", "ids", "bias"], &[logits, ids, bias], biased) {
                Ok(types) => types,
                Err(mistake) => return mistake,
            };
        let g = self.composition(METHOD);
        let rows = g.scatter_add(bias, ids, types[0].shape[1].clone());
        g.last().apply(Add {}, &[logits, rows])
    }
}
