//! A composition over a sequence: operands in f32 whatever their dtype, a state that has a dtype of its own.

use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::{Cast, Identity};
use crate::shape::{ValueType, display_dim};
use pumice_types::{DType, DimExpr};
use std::ops::Deref;

/// A composition while it is made.
pub(super) struct Sequence {
    g: Composition,
    /// The dtype of all operands but the state, and of the result.
    dtype: DType,
    /// That of the state.
    of_state: DType,
}

impl Sequence {
    /// Begins one, of operands of which the last is the state.
    pub fn new(g: &GraphBuilder, method: &str, types: &[Option<ValueType>]) -> Sequence {
        let dtype = types.iter().flatten().next().map_or(DType::F32, ValueType::dtype);
        let of_state = types.last().and_then(Option::as_ref).map_or(dtype, ValueType::dtype);
        Sequence { g: g.composition(method), dtype, of_state }
    }

    /// An operand in f32.
    #[track_caller]
    pub fn wide(&self, v: Value) -> Value {
        self.g.widened(v, self.dtype)
    }

    /// The state before the first step, in f32.
    #[track_caller]
    pub fn state(&self, v: Value) -> Value {
        self.g.widened(v, self.of_state)
    }

    /// Steps with their bias, through softplus where that is asked for.
    #[track_caller]
    pub fn step_sizes(&self, delta: Value, bias: Option<Value>, softplus: bool) -> Value {
        let delta = self.wide(delta);
        let delta = bias.map_or(delta, |bias| self.add(delta, self.wide(bias)));
        if softplus { self.softplus(delta) } else { delta }
    }

    /// (y + skipped)·silu(z).
    #[track_caller]
    pub fn skipped_and_gated(&self, y: Value, skipped: Option<Value>, z: Option<Value>) -> Value {
        let y = skipped.map_or(y, |skipped| self.add(y, skipped));
        z.map_or(y, |z| self.mul(y, self.silu(self.wide(z))))
    }

    /// The end: the result, which has the name of the whole, and the state after it, in their dtypes.
    #[track_caller]
    pub fn end(self, (y, last): (Value, Value)) -> (Value, Value) {
        let last = if self.of_state == DType::F32 { last } else { self.g.cast(last, self.of_state) };
        let ends = self.g.last();
        match self.dtype {
            DType::F32 => (ends.apply(Identity {}, &[y]), last),
            to => (ends.apply(Cast { to }, &[y]), last),
        }
    }
}

impl Deref for Sequence {
    type Target = GraphBuilder;

    fn deref(&self) -> &GraphBuilder {
        &self.g
    }
}

/// The operand has these extents.
pub(super) fn expect_shape(cx: &Infer<'_>, i: usize, shape: &[&DimExpr]) -> Result<(), OpError> {
    cx.expect_rank(i, shape.len())?;
    let whole: Vec<String> = shape.iter().map(|d| display_dim(d, cx.symbols())).collect();
    for (axis, (have, want)) in cx.ty(i)?.shape.iter().zip(shape).enumerate() {
        cx.equal(have, want, &format!("axis {axis} of `{}`, expected [{}]", cx.name(i), whole.join(", ")))?;
    }
    Ok(())
}

/// The operand, where it is there, has these extents.
pub(super) fn expect_optional(cx: &Infer<'_>, i: usize, shape: &[&DimExpr]) -> Result<(), OpError> {
    if cx.opt(i).is_some() { expect_shape(cx, i, shape) } else { Ok(()) }
}
