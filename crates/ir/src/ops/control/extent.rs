//! `Extent`: the length of one axis as a value.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{f32, sym};
use pumice_types::DType;

crate::op! {
    /// The extent of one axis as a rank-0 I32 (ONNX Shape followed by Gather). It lives in the frame where it is
    /// symbolic.
    pub struct Extent {
        /// The axis.
        axis: i64,
    }
}

impl OpDef for Extent {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.axis(self.axis, cx.ty(0)?.rank())?;
        one(DType::I32, [])
    }

    fn samples() -> Vec<Sample> {
        vec![
            Sample::graph("of a symbolic axis", |g| {
                let x = g.input("x", f32([sym("n", 0..=9), 3.into()]));
                g.output("n", g.extent(x, 0));
                g.output("three", g.extent(x, -1));
            })
            .bind("n", 5),
        ]
    }
}

impl GraphBuilder {
    /// The extent of one axis: x\[…\] → i32\[\].
    #[track_caller]
    pub fn extent(&self, x: Value, axis: i64) -> Value {
        self.apply(Extent { axis }, &[x])
    }
}
