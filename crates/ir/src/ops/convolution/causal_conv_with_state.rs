//! The convolution in front of state-space models, which carries its last elements on, as a composition.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::pad::{Pad, PadMode};
use crate::ops::{Cast, Conv, Identity};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};

/// What [`GraphBuilder::causal_conv_with_state`] does to its sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConvActivation {
    /// Nothing.
    #[default]
    None,
    /// v·σ(v).
    Silu,
}

impl ConvActivation {
    /// All of them.
    pub const ALL: [ConvActivation; 2] = [ConvActivation::None, ConvActivation::Silu];
}

/// Attributes of [`GraphBuilder::causal_conv_with_state`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CausalConvWithState {
    /// What becomes of the sums.
    pub activation: ConvActivation,
}

impl GraphBuilder {
    /// y\[b, c, t\] = act(bias\[c\] + Σᵢ w\[c, 0, i\]·h\[b, c, t + i\]) where h is `past`, or k − 1 zeros, and x after
    /// it (ONNX CausalConvWithState, the causal depthwise convolution of Mamba and Gated DeltaNet): x\[B, C, L\],
    /// w\[C, 1, k\], bias\[C\]?, past\[B, C, k − 1\]? of one float dtype → y\[B, C, L\] and the state to carry on, the
    /// last k − 1 elements of h, \[B, C, k − 1\], bit for bit.
    ///
    /// L may be anything, 0, 1 and less than k − 1 included; k = 1 has a state of no elements. C and k are constants.
    /// One call of length L is L calls of length 1 of which each takes the state of the one before. A `past` that
    /// [`GraphBuilder::state_read`] reads, whose successor is written back, makes it a state of the session.
    /// 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
    /// let g = GraphBuilder::new("g");
    /// let (x, w) = (g.input("x", f32([1, 8, 20])), g.param("w", f32([8, 1, 4])));
    /// let op = CausalConvWithState { activation: ConvActivation::Silu };
    /// let (y, present) = g.causal_conv_with_state(x, w, None, None, op);
    /// g.output("y", y);
    /// g.output("present", present);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn causal_conv_with_state(
        &self,
        x: Value,
        w: Value,
        bias: Option<Value>,
        past: Option<Value>,
        op: CausalConvWithState,
    ) -> (Value, Value) {
        const METHOD: &str = "causal_conv_with_state";
        let names = &["x", "w", "bias", "past"];
        let types = match self.checked_options(METHOD, names, &[Some(x), Some(w), bias, past], operands) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let [Some(of_x), Some(of_w)] = &types[..2] else { return (x, x) };
        let g = self.composition(METHOD);
        let before = &of_w.shape[2] - &DimExpr::constant(1);
        let history = g.history(x, past, &before);
        let present = g.narrow(history, 2, of_x.shape[2].clone(), before);
        let sums = g.causal_sums(history, (w, bias), of_x);
        let sums = if op.activation == ConvActivation::Silu { g.silu(sums) } else { sums };
        let y = match of_x.dtype() {
            DType::F32 => g.last().apply(Identity {}, &[sums]),
            to => g.last().apply(Cast { to }, &[sums]),
        };
        (y, present)
    }

    /// x after what was before it, or so many zeros.
    #[track_caller]
    fn history(&self, x: Value, past: Option<Value>, before: &DimExpr) -> Value {
        if let Some(past) = past {
            return self.concat(&[past, x], 2);
        }
        let pads = vec![before.as_const().unwrap_or(0), 0];
        self.pad(x, None, Pad { mode: PadMode::Constant, pads, axes: vec![2] })
    }

    /// Sums in f32 over a history of x, of that type, and what was before it.
    #[track_caller]
    fn causal_sums(&self, history: Value, (w, bias): (Value, Option<Value>), of_x: &ValueType) -> Value {
        let (dtype, length) = (of_x.dtype(), &of_x.shape[2]);
        let groups = of_x.shape[1].as_extent().unwrap_or(1);
        let [history, w] = [history, w].map(|v| self.widened(v, dtype));
        let bias = bias.map(|b| self.widened(b, dtype));
        // A window must fit: where nothing may come, one position more is made and left out.
        let spare = u64::from(length.lower(&self.symbols().unwrap_or_default()) == 0);
        let op = Conv { pads: vec![spare, 0], groups, ..Conv::default() };
        let sums = self.conv(history, w, bias, op);
        match spare {
            0 => sums,
            _ => self.narrow(sums, 2, 1, length.clone()),
        }
    }
}

fn operands(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    for i in (0..4).filter(|&i| cx.opt(i).is_some()) {
        cx.same_dtype(0, i)?;
        cx.expect_rank(i, if i == 2 { 1 } else { 3 })?;
    }
    let (x, w) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
    cx.constant_extent(&x[1], "the channels of `x`")?;
    let k = cx.constant_extent(&w[2], "the width of the window")?;
    if k == 0 {
        return Err(OpError::Invalid("the window of `w` has no element".into()));
    }
    cx.equal(&x[1], &w[0], "channels of `x` and of `w`")?;
    cx.equal(&w[1], &DimExpr::constant(1), "axis 1 of `w` and 1")?;
    optional_operands(cx, [&x[0], &x[1], &DimExpr::from(k - 1)])
}

/// A bias of the channels, and the state.
fn optional_operands(cx: &Infer<'_>, state: [&DimExpr; 3]) -> Result<(), OpError> {
    if let Some(bias) = cx.opt(2) {
        cx.equal(&bias.shape[0], state[1], "elements of `bias` and channels of `x`")?;
    }
    let past = cx.opt(3).into_iter().flat_map(|past| past.shape.iter());
    past.zip(state).try_for_each(|(have, want)| {
        cx.equal(have, want, "extents of `past` and of k − 1 elements of each channel")
    })
}
