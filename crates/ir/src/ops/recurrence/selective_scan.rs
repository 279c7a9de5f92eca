//! The selective scan of Mamba, as a composition.

use super::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use super::sequence::{Sequence, expect_shape};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use pumice_types::{DType, DimExpr};

/// Attributes of [`GraphBuilder::selective_scan`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SelectiveScan {
    /// Whether steps are softplus(Δ) = ln(1 + e^Δ).
    pub delta_softplus: bool,
}

/// Operands of [`GraphBuilder::selective_scan`] that may be absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOperands {
    /// D\[D\]: D·x is added to the result.
    pub d: Option<Value>,
    /// z\[B, T, D\]: the result is multiplied by z·σ(z).
    pub z: Option<Value>,
    /// Added to Δ first, \[D\].
    pub delta_bias: Option<Value>,
    /// The state before the first step, \[B, D, N\]; 0 if not given.
    pub h0: Option<Value>,
}

const NAMES: &[&str] = &["x", "delta", "a", "b", "c", "d", "z", "delta_bias", "h0"];

impl GraphBuilder {
    /// The selective scan of Mamba (arXiv:2312.00752): h = e^(Δ·A)·h + Δ·B·x for each step, y = ⟨C, h⟩ + D·x, times
    /// silu(z). x and Δ of \[B, T, D\], A\[D, N\] (the negative matrix itself), B and C of \[B, T, N\], one float dtype
    /// (h0 may be f32) → y\[B, T, D\] and the state to carry on, \[B, D, N\]. D and N are constants, of any size.
    ///
    /// One call of T steps is T calls of one step of which each takes the state of the one before. 16-bit floats are
    /// computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};
    /// let g = GraphBuilder::new("g");
    /// let (x, delta) = (g.input("x", f32([1, 20, 8])), g.input("delta", f32([1, 20, 8])));
    /// let (a, b, c) = (g.param("a", f32([8, 16])), g.input("b", f32([1, 20, 16])), g.input("c", f32([1, 20, 16])));
    /// let op = SelectiveScan { delta_softplus: true };
    /// let (y, h) = g.selective_scan([x, delta, a, b, c], ScanOperands::default(), op);
    /// g.output("y", y);
    /// g.output("h", h);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn selective_scan(
        &self,
        [x, delta, a, b, c]: [Value; 5],
        operands: ScanOperands,
        op: SelectiveScan,
    ) -> (Value, Value) {
        const METHOD: &str = "selective_scan";
        let ScanOperands { d, z, delta_bias, h0 } = operands;
        let given = [Some(x), Some(delta), Some(a), Some(b), Some(c), d, z, delta_bias, h0];
        let types = match self.checked_options(METHOD, NAMES, &given, check) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = Sequence::new(self, METHOD, &types);
        let x = g.wide(x);
        let delta = g.step_sizes(delta, delta_bias, op.delta_softplus);
        let (y, last) = g.scanned([x, delta, a, b, c], h0);
        let y = g.skipped_and_gated(y, d.map(|d| g.mul(g.wide(d), x)), z);
        g.end((y, last))
    }
}

impl Sequence {
    /// The scan of x and steps, which are wide already: each channel is a head of one value.
    #[track_caller]
    fn scanned(&self, [x, delta, a, b, c]: [Value; 5], h0: Option<Value>) -> (Value, Value) {
        let [b, c] = [b, c].map(|v| self.unsqueeze(self.wide(v), &[2]));
        let added = self.unsqueeze(self.mul(delta, x), &[3]);
        let state = h0.map(|h| self.unsqueeze(self.state(h), &[3]));
        let options = RecurrenceOptions { decay: Some(delta), rates: Some(self.wide(a)), beta: None, state };
        let (y, last) = self.linear_recurrence([c, b, added], options, LinearRecurrence::default());
        (self.squeeze(y, &[3]), self.squeeze(last, &[3]))
    }
}

/// Dtypes of operands of which the last one is a state, and their shapes, of those that are there.
pub(super) fn expect(cx: &Infer<'_>, shapes: &[&[&DimExpr]]) -> Result<(), OpError> {
    let dtype = cx.expect_dtype(0, FLOATS)?;
    let state = shapes.len() - 1;
    for (i, shape) in shapes.iter().enumerate() {
        match i == state {
            _ if cx.opt(i).is_none() => continue,
            true => cx.expect_dtype(i, &[dtype, DType::F32])?,
            false => cx.same_dtype(0, i)?,
        };
        expect_shape(cx, i, shape)?;
    }
    Ok(())
}

fn check(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_rank(0, 3)?;
    cx.expect_rank(2, 2)?;
    let (x, n) = (&cx.ty(0)?.shape, &cx.ty(2)?.shape[1]);
    let [b, t, d] = [0, 1, 2].map(|axis| &x[axis]);
    expect_some(cx, [(d, "the channels"), (n, "the states of a channel")])?;
    let (steps, inner) = ([b, t, d], [b, t, n]);
    expect(cx, &[&steps, &steps, &[d, n], &inner, &inner, &[d], &steps, &[d], &[b, d, n]])
}

/// These extents are constants, and not 0.
pub(super) fn expect_some<const N: usize>(
    cx: &Infer<'_>,
    extents: [(&DimExpr, &str); N],
) -> Result<[u64; N], OpError> {
    let mut all = [0; N];
    for (n, (extent, what)) in all.iter_mut().zip(extents) {
        *n = cx.constant_extent(extent, what)?;
        if *n == 0 {
            return Err(OpError::Invalid(format!("{what}: there are none")));
        }
    }
    Ok(all)
}
