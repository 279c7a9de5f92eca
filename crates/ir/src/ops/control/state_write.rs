//! `StateWrite`: a whole state becomes a value.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{f16, f32};

crate::op! {
    /// The next version of the state is `x`, whole (OPS 2).
    pub struct StateWrite {}
}

impl OpDef for StateWrite {
    const OPERANDS: &'static [&'static str] = &["state", "x"];
    const GRAD: Grad<Self> = Grad::No("a state is read and written in turn");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (state, x) = (cx.ty(0)?, cx.ty(1)?);
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, state.rank())?;
        for (a, b) in x.shape.iter().zip(state.shape.iter()) {
            cx.equal(a, b, "extents of the value and the state")?;
        }
        Ok(smallvec::smallvec![state.clone()])
    }

    fn samples() -> Vec<Sample> {
        let whole = |label: &str, ty: crate::shape::TypeSpec| {
            Sample::graph(label, move |g| {
                let (s, x) = (g.state("s", ty.clone()), g.input("x", ty.clone()));
                let s = g.state_write(s, x);
                g.output("y", g.state_read(s));
            })
            .runs(2)
        };
        vec![whole("f32", f32([3, 5])), whole("f16", f16([2, 7])), whole("empty", f32([0, 2]))]
    }

    fn state_operand(&self) -> Option<usize> {
        Some(0)
    }

    fn whole_state(&self) -> Option<usize> {
        Some(1)
    }
}

impl GraphBuilder {
    /// The next version of a state: state\[…\], x of the same type → the version after the write.
    #[track_caller]
    pub fn state_write(&self, state: Value, x: Value) -> Value {
        self.apply(StateWrite {}, &[state, x])
    }
}
