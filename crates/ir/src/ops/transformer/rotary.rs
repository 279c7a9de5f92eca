//! `Rotary`: positions written into queries and keys as rotations.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::attention::AttentionLayout;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, NodeCx, Transpose, Untransposed};
use crate::sample::Sample;
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};

crate::op! {
    /// The first `n_rot` elements of every head rotated in pairs, the rest copied (ONNX RotaryEmbedding):
    /// y₁ = c·x₁ − s·x₂, y₂ = s·x₁ + c·x₂. Pair i is (i, i + n_rot/2), or (2i, 2i + 1) where `interleaved`.
    ///
    /// Tables: cos and sin of \[S, n_rot/2\] or \[B, S, n_rot/2\]; or of \[P, n_rot/2\] with `pos` of \[B, S\] or
    /// rank 0, whose rows are picked by position (one that is outside gives 0 and reports INDEX_OUT_OF_RANGE).
    /// Without tables, c and s are cosine and sine of position·θ^(−2i/n_rot)·freq_scale, over `freq_factors`\[i\]
    /// (f32 \[n_rot/2\]) where they are given: within 2⁻²¹ of those of the exact angle for every angle below 2²⁴. A
    /// factor of 0 or NaN makes NaN. Both are multiplied by `magnitude`, those of tables, too. A `pos` of rank 0 is
    /// the position of the first row: row s has pos + s.
    pub struct Rotary {
        /// Order of x's four axes.
        layout: AttentionLayout = AttentionLayout::Bhsd,
        /// Whether pairs are neighbours.
        interleaved: bool = false,
        /// How many elements of a head rotate; all if not given.
        n_rot: Option<i64> = None,
        /// θ.
        theta: f32 = 10_000.0 => POSITIVE,
        /// Factor of every angle.
        freq_scale: f32 = 1.0 => FINITE,
        /// Factor of cosines and sines.
        magnitude: f32 = 1.0 => FINITE,
    }
}

impl Default for Rotary {
    fn default() -> Rotary {
        let layout = AttentionLayout::Bhsd;
        Rotary { layout, interleaved: false, n_rot: None, theta: 10_000.0, freq_scale: 1.0, magnitude: 1.0 }
    }
}

impl Rotary {
    /// How many elements of a head of that width rotate.
    pub fn rotated(&self, width: u64) -> Result<u64, OpError> {
        let wrong = |reason: String| AttrError::Value { name: "n_rot", reason };
        let n = self.n_rot.map_or(Ok(width), u64::try_from).unwrap_or(u64::MAX);
        if n > width {
            return Err(wrong(format!("it must be 0 to {width}, the width of a head")).into());
        }
        if n % 2 == 1 {
            return Err(wrong(format!("{n} elements do not make pairs")).into());
        }
        Ok(n)
    }

    fn check_tables(&self, cx: &Infer<'_>, b: &DimExpr, s: &DimExpr, half: u64) -> Result<(), OpError> {
        let (cos, sin) = (cx.ty(2)?, cx.ty(3)?);
        cx.same_dtype(0, 2)?;
        cx.same_dtype(2, 3)?;
        cx.expect_rank(3, cos.rank())?;
        for (a, b) in cos.shape.iter().zip(sin.shape.iter()) {
            cx.equal(a, b, "extents of `cos` and `sin`")?;
        }
        let columns = cos.shape.last().cloned().unwrap_or(DimExpr::constant(0));
        cx.equal(&columns, &DimExpr::from(half), "columns of the tables and pairs of a head")?;
        match (cos.rank(), cx.opt(1)) {
            (2, Some(_)) => Ok(()),
            (2, None) => cx.equal(&cos.shape[0], s, "rows of the tables and sequence"),
            (3, None) => {
                cx.equal(&cos.shape[0], b, "batch of the tables and of `x`")?;
                cx.equal(&cos.shape[1], s, "rows of the tables and sequence")
            }
            (rank, _) => {
                let expected = "expected 2, or 3 without positions".into();
                Err(OpError::Rank { operand: "cos", rank, expected })
            }
        }
    }
}

/// Positions, if there are any, are one for all rows or one for each.
fn check_positions(cx: &Infer<'_>, batch: &DimExpr, sequence: &DimExpr) -> Result<(), OpError> {
    let Some(pos) = cx.opt(1) else { return Ok(()) };
    cx.expect_dtype(1, &[DType::I32])?;
    match &*pos.shape {
        [] => Ok(()),
        [b, s] => {
            cx.equal(b, batch, "batch of `pos` and `x`")?;
            cx.equal(s, sequence, "sequence of `pos` and `x`")
        }
        shape => {
            let expected = "expected 0, or 2 with one position per row".into();
            Err(OpError::Rank { operand: "pos", rank: shape.len(), expected })
        }
    }
}

/// Factors, if there are any, are one for each pair, and angles are computed.
fn check_factors(cx: &Infer<'_>, half: u64) -> Result<(), OpError> {
    let Some(factors) = cx.opt(4) else { return Ok(()) };
    if cx.opt(2).is_some() {
        return Err(OpError::Invalid("`freq_factors` are of computed angles; tables have their own".into()));
    }
    cx.expect_dtype(4, &[DType::F32])?;
    cx.expect_rank(4, 1)?;
    cx.equal(&factors.shape[0], &DimExpr::from(half), "entries of `freq_factors` and pairs of a head")
}

impl OpDef for Rotary {
    const OPERANDS: &'static [&'static str] = &["x", "pos?", "cos?", "sin?", "freq_factors?"];
    const GRAD: Grad<Self> = Grad::Rule(super::rotary_grad::rule);
    const STEERS: &'static [&'static str] = &["pos"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        cx.expect_rank(0, 4)?;
        let x: &ValueType = cx.ty(0)?;
        let [b, _, s, d] = self.layout.axes().map(|a| &x.shape[a]);
        let half = self.rotated(cx.constant_extent(d, "the width of a head")?)? / 2;
        check_positions(cx, b, s)?;
        match (cx.opt(1), cx.opt(2)) {
            (_, Some(_)) => self.check_tables(cx, b, s, half)?,
            (None, None) => return Err(OpError::MissingOperand("pos")),
            (Some(_), None) if cx.opt(3).is_some() => return Err(OpError::MissingOperand("cos")),
            (Some(_), None) => {}
        }
        check_factors(cx, half)?;
        let finite = self.theta.is_finite() && self.theta > 0.0 && self.freq_scale.is_finite();
        if !finite {
            let reason = "it must be a finite number above 0, and freq_scale finite".into();
            return Err(AttrError::Value { name: "theta", reason }.into());
        }
        Ok(smallvec::smallvec![x.clone()])
    }

    fn samples() -> Vec<Sample> {
        super::rotary_samples::samples()
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// With P the exchange of heads and sequence: rotary(P(x), layout) == P(rotary(x, other layout)).
    fn untransposed(&self, cx: &NodeCx<'_>) -> Option<Untransposed> {
        let operands = [(0, cx.exchanged(0, 1, 2)?)].into_iter().collect();
        let op = Rotary { layout: self.layout.other(), ..self.clone() };
        Some(Untransposed { op: op.into(), operands, after: Some(Transpose { perm: vec![0, 2, 1, 3] }) })
    }
}

impl GraphBuilder {
    /// Rotation by computed angles: x\[B, H, S, D\] (or the other layout), pos i32 \[\] or \[B, S\] → x's type.
    #[track_caller]
    pub fn rotary(&self, x: Value, pos: Value, op: Rotary) -> Value {
        self.apply(op, &[x, pos])
    }

    /// Rotation by computed angles, each over a factor of its pair (Llama 3's, Phi 3's): as [`GraphBuilder::rotary`],
    /// with f32 \[n_rot/2\], a constant, a param or any other value.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// # use pumice_ir::ops::Rotary;
    /// let g = GraphBuilder::new("g");
    /// let (x, pos) = (g.input("x", f32([1, 4, 9, 16])), g.input("pos", i32::<u64>([])));
    /// let factors = g.param("rope_freqs", f32([8]));
    /// g.output("y", g.rotary_by_factors(x, pos, factors, Rotary { magnitude: 1.2, ..Rotary::default() }));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn rotary_by_factors(&self, x: Value, pos: Value, freq_factors: Value, op: Rotary) -> Value {
        self.apply_all(op, &[Some(x), Some(pos), None, None, Some(freq_factors)])[0]
    }

    /// Rotation by tables: cos and sin of \[S, n_rot/2\], \[B, S, n_rot/2\], or \[P, n_rot/2\] picked by pos → x's
    /// type.
    #[track_caller]
    pub fn rotary_tables(&self, x: Value, cos: Value, sin: Value, pos: Option<Value>, op: Rotary) -> Value {
        self.apply_all(op, &[Some(x), pos, Some(cos), Some(sin)])[0]
    }
}
