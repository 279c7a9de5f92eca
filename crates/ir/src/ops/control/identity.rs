//! `Identity`: a value under another name.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::Sample;
use crate::shape::f32;

crate::op! {
    /// The value itself (ONNX Identity).
    pub struct Identity {}
}

impl OpDef for Identity {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        vec![Sample::graph("of an input, as an output", |g| {
            let x = g.input("x", f32([2, 3]));
            g.output("y", g.identity(x));
        })]
    }

    fn is_movement(&self) -> bool {
        true
    }

    /// id(x) == x.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        cx.is_operand()
    }
}

/// dy itself.
fn rule(_: &Identity, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(cx.dy())])
}

impl GraphBuilder {
    /// The value itself: x → x.
    #[track_caller]
    pub fn identity(&self, x: Value) -> Value {
        self.apply(Identity {}, &[x])
    }
}
