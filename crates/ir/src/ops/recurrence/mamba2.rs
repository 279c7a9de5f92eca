//! The state-space duality of Mamba-2, step by step, as a composition.

use super::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use super::selective_scan::{expect, expect_some};
use super::sequence::Sequence;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;

/// Attributes of [`GraphBuilder::mamba2`].
#[derive(Clone, Debug, PartialEq)]
pub struct Mamba2 {
    /// Whether steps are softplus(dt) = ln(1 + e^dt).
    pub dt_softplus: bool,
    /// The least step, and the largest: what is outside becomes the nearest of them.
    pub dt_limit: (f32, f32),
}

impl Default for Mamba2 {
    fn default() -> Mamba2 {
        Mamba2 { dt_softplus: false, dt_limit: (0.0, f32::INFINITY) }
    }
}

/// Operands of [`GraphBuilder::mamba2`] that may be absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SsdOperands {
    /// D\[H\]: D·x is added to the result.
    pub d: Option<Value>,
    /// z\[B, T, H, P\]: the result is multiplied by z·σ(z).
    pub z: Option<Value>,
    /// Added to dt first, \[H\].
    pub dt_bias: Option<Value>,
    /// The state before the first step, \[B, H, P, N\]; 0 if not given.
    pub state: Option<Value>,
}

const NAMES: &[&str] = &["x", "dt", "a", "b", "c", "d", "z", "dt_bias", "state"];

impl GraphBuilder {
    /// The recurrence of Mamba-2 (SSD, arXiv:2405.21060): S = e^(dt·A)·S + dt·x⊗B for each step and head, y = S·C +
    /// D·x, times silu(z). x\[B, T, H, P\], dt\[B, T, H\], A\[H\] (the negative number itself), B and C of \[B, T, G,
    /// N\], of which head h reads group ⌊h·G/H⌋, one float dtype (the state may be f32) → y\[B, T, H, P\] and the state
    /// to carry on, \[B, H, P, N\]. H, P, G and N are constants. dt is softplus(dt + bias) where that is asked for,
    /// within the limits.
    ///
    /// One call of T steps is T calls of one step of which each takes the state of the one before. 16-bit floats are
    /// computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
    /// let g = GraphBuilder::new("g");
    /// let (x, dt, a) = (g.input("x", f32([1, 20, 4, 8])), g.input("dt", f32([1, 20, 4])), g.param("a", f32([4])));
    /// let [b, c] = ["b", "c"].map(|name| g.input(name, f32([1, 20, 1, 16])));
    /// let op = Mamba2 { dt_softplus: true, ..Mamba2::default() };
    /// let (y, state) = g.mamba2([x, dt, a, b, c], SsdOperands::default(), op);
    /// g.output("y", y);
    /// g.output("state", state);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn mamba2(&self, [x, dt, a, b, c]: [Value; 5], operands: SsdOperands, op: Mamba2) -> (Value, Value) {
        const METHOD: &str = "mamba2";
        let SsdOperands { d, z, dt_bias, state } = operands;
        let given = [Some(x), Some(dt), Some(a), Some(b), Some(c), d, z, dt_bias, state];
        let types = match self.checked_options(METHOD, NAMES, &given, |cx| op.check(cx)) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = Sequence::new(self, METHOD, &types);
        let x = g.wide(x);
        let dt = g.limited(g.step_sizes(dt, dt_bias, op.dt_softplus), op.dt_limit);
        let (y, last) = g.dual([x, dt, a, b, c], state);
        let skipped = d.map(|d| g.mul(g.unsqueeze(g.wide(d), &[1]), x));
        let y = g.skipped_and_gated(y, skipped, z);
        g.end((y, last))
    }
}

impl Sequence {
    #[track_caller]
    fn limited(&self, dt: Value, (least, most): (f32, f32)) -> Value {
        self.clip(dt, Some(f64::from(least)), most.is_finite().then(|| f64::from(most)))
    }

    /// The recurrence of x and steps, which are wide already.
    #[track_caller]
    fn dual(&self, [x, dt, a, b, c]: [Value; 5], state: Option<Value>) -> (Value, Value) {
        let added = self.mul(self.unsqueeze(dt, &[3]), x);
        let decay = Some(self.mul(dt, self.wide(a)));
        let state = state.map(|s| self.state(s));
        let options = RecurrenceOptions { decay, state, ..RecurrenceOptions::default() };
        let rule = LinearRecurrence { by_value: true, ..LinearRecurrence::default() };
        self.linear_recurrence([self.wide(c), self.wide(b), added], options, rule)
    }
}

impl Mamba2 {
    fn check(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let (least, most) = self.dt_limit;
        if !least.is_finite() || most.is_nan() || least > most {
            let reason = "a finite number and one that is not less".into();
            return Err(AttrError::Value { name: "dt_limit", reason }.into());
        }
        cx.expect_rank(0, 4)?;
        cx.expect_rank(3, 4)?;
        let (x, of_b) = (&cx.ty(0)?.shape, &cx.ty(3)?.shape);
        let [b, t, h, p] = [0, 1, 2, 3].map(|axis| &x[axis]);
        let [groups, n] = [2, 3].map(|axis| &of_b[axis]);
        let widths = [(p, "the width of a head"), (n, "the width of a state")];
        expect_some(cx, widths)?;
        let [heads, parts] = expect_some(cx, [(h, "the heads"), (groups, "the groups")])?;
        if parts > heads {
            return Err(OpError::Invalid(format!("{parts} groups for {heads} heads")));
        }
        let (steps, inner) = ([b, t, h, p], [b, t, groups, n]);
        expect(cx, &[&steps, &steps[..3], &[h], &inner, &inner, &[h], &steps, &[h], &[b, h, p, n]])
    }
}
