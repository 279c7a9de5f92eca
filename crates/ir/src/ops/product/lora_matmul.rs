//! `LoraMatMul`: a linear layer with an adapter of low rank, as a composition.

use crate::attr::FloatRange;
use crate::builder::{GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, MatMul};

/// Attributes of [`GraphBuilder::lora_matmul`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoraMatMul {
    /// The adapter counts `alpha` / rank: finite.
    pub alpha: f32,
}

impl Default for LoraMatMul {
    fn default() -> LoraMatMul {
        LoraMatMul { alpha: 1.0 }
    }
}

impl GraphBuilder {
    /// y = x·Wᵀ + (α/r)·(x·Aᵀ)·Bᵀ (LoRA): x\[…, K\], w\[N, K\], a\[r, K\], b\[N, r\] of one float dtype → \[…, N\].
    /// The rank r is a constant; an adapter of rank 0 adds nothing. x·Aᵀ has r columns, so that no weight is ever made
    /// of the adapter. 16-bit floats are computed in f32 and rounded once. No ONNX op. A training starts with A by
    /// Kaiming's uniform rule (a = √5) and B 0.
    ///
    /// Mistakes: an α that is not finite, a rank that symbols decide, extents that differ. A weight in blocks is
    /// given as its `dequantize`, which products read where it lies.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::lora_matmul::LoraMatMul;
    /// let g = GraphBuilder::new("g");
    /// let (x, w) = (g.input("x", f32([4, 64])), g.param("w", f32([32, 64])));
    /// let (a, b) = (g.param("a", f32([8, 64])), g.param("b", f32([32, 8])));
    /// g.output("y", g.lora_matmul(x, w, a, b, LoraMatMul { alpha: 16.0 }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn lora_matmul(&self, x: Value, w: Value, a: Value, b: Value, op: LoraMatMul) -> Value {
        const METHOD: &str = "lora_matmul";
        let rule = |cx: &Infer<'_>| operands(cx, op);
        let types = match self.checked_operands(METHOD, &["x", "w", "a", "b"], &[x, w, a, b], rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let (dtype, rank) = (types[0].dtype(), types[2].shape[0].as_extent().unwrap_or(0));
        let g = self.composition(METHOD);
        let [x, w, a, b] = [x, w, a, b].map(|v| g.widened(v, dtype));
        let by_transposed = MatMul { trans_b: true, ..MatMul::default() };
        if rank == 0 {
            return g.finish(by_transposed, &[x, w], dtype, &[]);
        }
        let y = g.apply(by_transposed.clone(), &[x, w]);
        let low = g.times(g.apply(by_transposed.clone(), &[x, a]), op.alpha / rank as f32);
        let added = g.apply(by_transposed, &[low, b]);
        g.finish(Add {}, &[y, added], dtype, &[])
    }
}

fn operands(cx: &Infer<'_>, op: LoraMatMul) -> Result<(), OpError> {
    in_range("alpha", op.alpha, FloatRange::FINITE)?;
    cx.expect_dtype(0, FLOATS)?;
    for i in 1..4 {
        cx.same_dtype(0, i)?;
        cx.expect_rank(i, 2)?;
    }
    let [x, w, a, b] = [cx.ty(0)?, cx.ty(1)?, cx.ty(2)?, cx.ty(3)?].map(|ty| &ty.shape);
    let Some(k) = x.last() else {
        return Err(OpError::Rank { operand: "x", rank: 0, expected: "expected 1 or more".into() });
    };
    cx.constant_extent(&a[0], "the rank of an adapter")?;
    cx.equal(k, &w[1], "the last axis of `x` and axis 1 of `w`")?;
    cx.equal(k, &a[1], "the last axis of `x` and axis 1 of `a`")?;
    cx.equal(&w[0], &b[0], "axis 0 of `w` and of `b`")?;
    cx.equal(&a[0], &b[1], "the rank of `a` and of `b`")
}
