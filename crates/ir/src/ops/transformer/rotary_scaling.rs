//! Rotation beyond the context that a model was trained for: YaRN as factors of frequencies and a magnitude.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::ops::Rotary;
use pumice_types::Tensor;
use std::f64::consts::TAU;

/// YaRN: frequencies that turn often within the original context stay, those that turn seldom are scaled by
/// `freq_scale`, and between them there is a ramp.
#[derive(Clone, Debug, PartialEq)]
pub struct Yarn {
    /// How much of the ramp counts; 0: every frequency is scaled, and the magnitude is `attn`.
    pub ext: f32,
    /// Factor of the magnitude.
    pub attn: f32,
    /// Turns within the original context from which on a frequency stays.
    pub beta_fast: f32,
    /// Turns within the original context up to which one is scaled in full.
    pub beta_slow: f32,
    /// The context that the model was trained for.
    pub original_context: u64,
}

impl Default for Yarn {
    fn default() -> Yarn {
        Yarn { ext: 1.0, attn: 1.0, beta_fast: 32.0, beta_slow: 1.0, original_context: 4096 }
    }
}

/// How angles are changed for long contexts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RotaryScaling {
    /// YaRN by the `freq_scale` of the op.
    pub yarn: Option<Yarn>,
    /// Pairs of each kind of position (M-RoPE): not here yet.
    pub sections: Vec<u64>,
}

impl GraphBuilder {
    /// As [`GraphBuilder::rotary`], with factors and YaRN (OPS 3.7): YaRN becomes factors, which those that are given
    /// multiply, and a magnitude attn·(1 + 0.1·ln(1/freq_scale)). With m = ext·(1 − clip((i − low)/(high − low), 0,
    /// 1)), frequency i is scaled by freq_scale·(1 − m) + m; low and high are the pairs that turn `beta_fast` and
    /// `beta_slow` times within the original context, rounded outwards.
    ///
    /// Errors: `sections`; numbers of YaRN that are not finite, betas and contexts that are not positive, a
    /// `freq_scale` that is not; those of [`Rotary`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// # use pumice_ir::ops::Rotary;
    /// # use pumice_ir::ops::rotary_scaling::{RotaryScaling, Yarn};
    /// let g = GraphBuilder::new("g");
    /// let (x, pos) = (g.input("x", f32([1, 4, 9, 64])), g.input("pos", i32::<u64>([])));
    /// let scaling = RotaryScaling { yarn: Some(Yarn::default()), ..RotaryScaling::default() };
    /// g.output("y", g.rotary_scaled(x, pos, None, scaling, Rotary { freq_scale: 0.125, ..Rotary::default() }));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn rotary_scaled(
        &self,
        x: Value,
        pos: Value,
        freq_factors: Option<Value>,
        scaling: RotaryScaling,
        op: Rotary,
    ) -> Value {
        const METHOD: &str = "rotary_scaled";
        let mut pairs = 0;
        let given = [Some(x), Some(pos), freq_factors];
        let checked = self.checked_optional(METHOD, &["x", "pos", "freq_factors?"], &given, |cx| {
            cx.expect_rank(0, 4)?;
            let width = &cx.ty(0)?.shape[op.layout.axes()[3]];
            pairs = op.rotated(cx.constant_extent(width, "the width of a head")?)? / 2;
            scaling.check(&op)
        });
        if let Err(mistake) = checked {
            return mistake;
        }
        let g = self.composition(METHOD);
        let Some(yarn) = &scaling.yarn else { return g.last().rotary_over(x, pos, freq_factors, op) };
        let factors = yarn.factors(&op, pairs).and_then(|f| Tensor::new(&f, &[pairs]).ok());
        let factors = factors.map(|data| g.constant(data));
        let factors = match (freq_factors, factors) {
            (Some(given), Some(own)) => Some(g.mul(given, own)),
            (given, own) => given.or(own),
        };
        let op = Rotary { magnitude: yarn.magnitude(&op), ..op };
        g.last().rotary_over(x, pos, factors, op)
    }

    /// With factors or without.
    #[track_caller]
    fn rotary_over(&self, x: Value, pos: Value, factors: Option<Value>, op: Rotary) -> Value {
        match factors {
            Some(factors) => self.rotary_by_factors(x, pos, factors, op),
            None => self.rotary(x, pos, op),
        }
    }
}

impl RotaryScaling {
    fn check(&self, op: &Rotary) -> Result<(), OpError> {
        let wrong = |name, reason: &str| -> Result<(), OpError> {
            Err(AttrError::Value { name, reason: reason.to_owned() }.into())
        };
        if !self.sections.is_empty() {
            return wrong("sections", "positions of several kinds are not here yet");
        }
        let Some(yarn) = &self.yarn else { return Ok(()) };
        let positive = |v: f32| v.is_finite() && v > 0.0;
        match () {
            () if !yarn.ext.is_finite() => wrong("ext", "it is a finite number"),
            () if !yarn.attn.is_finite() => wrong("attn", "it is a finite number"),
            () if !positive(yarn.beta_fast) => wrong("beta_fast", "it is a finite number above 0"),
            () if !positive(yarn.beta_slow) => wrong("beta_slow", "it is a finite number above 0"),
            () if yarn.original_context == 0 => wrong("original_context", "it is 1 or more"),
            () if !positive(op.freq_scale) => wrong("freq_scale", "of YaRN it is a finite number above 0"),
            () if !positive(op.theta) || op.theta == 1.0 => {
                wrong("theta", "of YaRN it is positive and not 1")
            }
            () => Ok(()),
        }
    }
}

impl Yarn {
    /// What each frequency is divided by besides being scaled; none where all are scaled alike.
    fn factors(&self, op: &Rotary, pairs: u64) -> Option<Vec<f32>> {
        if self.ext == 0.0 || pairs == 0 {
            return None;
        }
        let (scale, ext) = (f64::from(op.freq_scale), f64::from(self.ext));
        let low = self.pair(op, pairs, self.beta_fast).floor().max(0.0);
        let high = self.pair(op, pairs, self.beta_slow).ceil().min(2.0 * pairs as f64 - 1.0);
        let factor = |i: u64| {
            let along = ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
            let kept = ext * (1.0 - along);
            (scale / (scale * (1.0 - kept) + kept)) as f32
        };
        Some((0..pairs).map(factor).collect())
    }

    /// Which pair turns so often within the original context.
    fn pair(&self, op: &Rotary, pairs: u64, turns: f32) -> f64 {
        let context = self.original_context as f64;
        pairs as f64 * (context / (f64::from(turns) * TAU)).ln() / f64::from(op.theta).ln()
    }

    fn magnitude(&self, op: &Rotary) -> f32 {
        let grown = if self.ext == 0.0 { 1.0 } else { 1.0 - 0.1 * f64::from(op.freq_scale).ln() };
        (f64::from(op.magnitude) * f64::from(self.attn) * grown) as f32
    }
}
