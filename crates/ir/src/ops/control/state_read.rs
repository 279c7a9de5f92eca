//! `StateRead`: the value of one version of a state.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::{Grad, NodeCx, Simpler};
use crate::sample::Sample;
use crate::shape::f32;

crate::op! {
    /// The value of that version of the state (OPS 2).
    pub struct StateRead {}
}

impl OpDef for StateRead {
    const OPERANDS: &'static [&'static str] = &["state"];
    const GRAD: Grad<Self> = Grad::No("a state is read and written in turn");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        vec![
            Sample::graph("before and after a write", |g| {
                let (s, x) = (g.state("s", f32([2, 3])), g.input("x", f32([2, 3])));
                let before = g.state_read(s);
                let after = g.state_read(g.state_write(s, x));
                g.output("before", before);
                g.output("after", after);
            })
            .runs(2),
        ]
    }

    fn is_movement(&self) -> bool {
        true
    }

    fn state_read(&self) -> Option<usize> {
        Some(0)
    }

    /// What is read of a state that was written whole is what was written, unless that shows a version itself: fusion
    /// does not stop at the state.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let write = cx.before()?;
        let written = write.input(write.op.whole_state()?)?;
        if cx.graph.shows_state(written) { None } else { cx.is(written) }
    }
}

impl GraphBuilder {
    /// The value of that version of a state: state\[…\] → the same type.
    #[track_caller]
    pub fn state_read(&self, state: Value) -> Value {
        self.apply(StateRead {}, &[state])
    }
}
