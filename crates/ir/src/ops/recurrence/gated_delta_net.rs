//! Linear attention, gated and by the delta rule, as a composition.

use super::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use super::sequence::Sequence;
use crate::attr::FloatRange;
use crate::builder::{GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::shape::ValueType;
use pumice_types::DType;

/// What is added to the state of [`GraphBuilder::gated_delta_net`], and whether the state decays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UpdateRule {
    /// S + k⊗v.
    Linear,
    /// e^g·S + k⊗v.
    Gated,
    /// S + β·k⊗(v − Sᵀk).
    Delta,
    /// The same of the decayed S.
    #[default]
    GatedDelta,
}

impl UpdateRule {
    /// All of them.
    pub const ALL: [UpdateRule; 4] =
        [UpdateRule::Linear, UpdateRule::Gated, UpdateRule::Delta, UpdateRule::GatedDelta];

    fn decays(self) -> bool {
        matches!(self, UpdateRule::Gated | UpdateRule::GatedDelta)
    }

    fn corrects(self) -> bool {
        matches!(self, UpdateRule::Delta | UpdateRule::GatedDelta)
    }
}

/// Attributes of [`GraphBuilder::gated_delta_net`].
#[derive(Clone, Debug, PartialEq)]
pub struct GatedDeltaNet {
    /// What is added.
    pub rule: UpdateRule,
    /// Factor of the result; 1/√dk if not given.
    pub scale: Option<f32>,
    /// Whether q and k are divided by √(Σx² + eps) over their keys first.
    pub l2norm_qk: bool,
    /// What is added to the squares of a norm.
    pub eps: f32,
}

impl Default for GatedDeltaNet {
    fn default() -> GatedDeltaNet {
        GatedDeltaNet { rule: UpdateRule::default(), scale: None, l2norm_qk: false, eps: 1e-6 }
    }
}

impl GatedDeltaNet {
    fn check(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        for i in (1..5).filter(|&i| cx.opt(i).is_some()) {
            cx.same_dtype(0, i)?;
        }
        if cx.opt(5).is_some() {
            cx.expect_dtype(5, &[dtype, DType::F32])?;
        }
        self.expect_operands(cx)?;
        cx.expect_rank(0, 4)?;
        if cx.constant_extent(&cx.ty(0)?.shape[3], "the keys of `q`")? == 0 {
            return Err(OpError::Invalid("`q` has no keys".into()));
        }
        in_range("eps", self.eps, FloatRange::NOT_NEGATIVE)?;
        in_range("scale", self.scale.unwrap_or(1.0), FloatRange::FINITE)
    }

    /// Operands that a rule needs are there, others are not.
    fn expect_operands(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        for (i, needs) in [(3, self.rule.decays()), (4, self.rule.corrects())] {
            match cx.opt(i) {
                None if needs => return Err(OpError::MissingOperand(cx.name(i))),
                Some(_) if !needs => {
                    return Err(OpError::Invalid(format!(
                        "the rule {:?} has no `{}`",
                        self.rule,
                        cx.name(i)
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Operands of [`GraphBuilder::gated_delta_net`] that a rule may not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeltaOperands {
    /// Log decays g, \[B, T, H\] or \[B, T, H, dk\]: those of the gated rules.
    pub decay: Option<Value>,
    /// β, \[B, T, H\] or \[B, T, 1\]: those of the delta rules.
    pub beta: Option<Value>,
    /// The state before the first step, \[B, H, dk, dv\]; 0 if not given.
    pub state: Option<Value>,
}

impl GraphBuilder {
    /// Linear attention with a state (ONNX LinearAttention; Gated DeltaNet, arXiv:2412.06464): for each step and head
    /// S = e^g·S, S = S + k⊗v or S + β·k⊗(v − Sᵀk), o = scale·Sᵀq, by the rule. q\[B, T, Hq, dk\], k\[B, T, Hk, dk\],
    /// v\[B, T, H, dv\] of one float dtype → o\[B, T, max(H, Hq), dv\] and the state to carry on, \[B, H, dk, dv\].
    ///
    /// Head h of H reads head ⌊h·Hk/H⌋ of k and ⌊h·Hq/H⌋ of q; where Hq is a multiple of H, Hq/H heads of q read one
    /// state. One call of T steps is T calls of one step of which each takes the state of the one before. A state may
    /// be f32 beside 16-bit operands; 16-bit floats are computed in f32 and rounded once.
    ///
    /// Mistakes: a decay where the rule has none, or none where it has one, and so with β; heads that do not go
    /// together; heads or widths that symbols decide.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet};
    /// let g = GraphBuilder::new("g");
    /// let (q, k) = (g.input("q", f32([1, 20, 2, 16])), g.input("k", f32([1, 20, 2, 16])));
    /// let v = g.input("v", f32([1, 20, 4, 32]));
    /// let [decay, beta] = ["decay", "beta"].map(|name| Some(g.input(name, f32([1, 20, 4]))));
    /// let operands = DeltaOperands { decay, beta, state: None };
    /// let (o, state) = g.gated_delta_net([q, k, v], operands, GatedDeltaNet::default());
    /// g.output("o", o);
    /// g.output("state", state);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn gated_delta_net(
        &self,
        [q, k, v]: [Value; 3],
        operands: DeltaOperands,
        op: GatedDeltaNet,
    ) -> (Value, Value) {
        const METHOD: &str = "gated_delta_net";
        let names = &["q", "k", "v", "decay", "beta", "state"];
        let DeltaOperands { decay, beta, state } = operands;
        let given = [Some(q), Some(k), Some(v), decay, beta, state];
        let types = match self.checked_options(METHOD, names, &given, |cx| op.check(cx)) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let scale = op.scale.unwrap_or_else(|| usual_scale(&types));
        let rule = LinearRecurrence { delta: op.rule.corrects(), scale, by_value: false };
        Sequence::new(self, METHOD, &types).delta_net([q, k, v], operands, (op, rule))
    }
}

/// 1/√dk.
fn usual_scale(types: &[Option<ValueType>]) -> f32 {
    let keys = types.iter().flatten().next().and_then(|q| q.shape[3].as_extent());
    (1.0 / (keys.unwrap_or(1) as f64).sqrt()) as f32
}

impl Sequence {
    #[track_caller]
    fn delta_net(
        self,
        main: [Value; 3],
        operands: DeltaOperands,
        (op, rule): (GatedDeltaNet, LinearRecurrence),
    ) -> (Value, Value) {
        let [mut q, mut k, v] = main.map(|v| self.wide(v));
        if op.l2norm_qk {
            [q, k] = [q, k].map(|x| self.l2_normed(x, op.eps));
        }
        let [decay, beta] = [operands.decay, operands.beta].map(|v| v.map(|v| self.wide(v)));
        let state = operands.state.map(|s| self.state(s));
        let options = RecurrenceOptions { decay, rates: None, beta, state };
        let results = self.linear_recurrence([q, k, v], options, rule);
        self.end(results)
    }

    /// x / √(Σx² + eps) over the last axis, of f32: the norm by mean squares with ε/n, times 1/√n. It is one step. An
    /// ε/n that some devices take for 0 is added to the sum itself.
    #[track_caller]
    fn l2_normed(&self, x: Value, eps: f32) -> Value {
        let Some(keys) = self.type_of(x).and_then(|ty| ty.shape.last()?.as_extent()) else { return x };
        let n = keys.max(1) as f64;
        if eps > 0.0 && f64::from(eps) / n < f64::from(f32::MIN_POSITIVE) {
            let sum = self.reduce_sum(self.square(x), &[-1], true);
            let length = self.sqrt(self.add(sum, self.constant_scalar(DType::F32, eps.into())));
            return self.div(x, length);
        }
        let gamma = self.fill(self.constant_scalar(DType::F32, 1.0 / n.sqrt()), vec![keys.into()]);
        self.rms_norm(x, gamma, (f64::from(eps) / n) as f32)
    }
}
