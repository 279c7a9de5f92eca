//! `LogSoftmax`: the logarithm of softmax.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::{FLOATS, infer_unary};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::softmax::row_samples;
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::Sample;

crate::op! {
    /// y = x − m − ln Σ e^{x−m} along one axis, m the maximum (ONNX LogSoftmax, opset 13). A row of −Inf is NaN.
    pub struct LogSoftmax {
        /// The axis.
        axis: i64 = -1,
    }
}

impl OpDef for LogSoftmax {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.axis(self.axis, cx.ty(0)?.rank())?;
        infer_unary(cx, FLOATS, None)
    }

    fn samples() -> Vec<Sample> {
        row_samples(|g, x, axis| g.log_softmax(x, axis))
    }
}

/// dx = dy − e^y·Σ dy along the axis.
fn rule(op: &LogSoftmax, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, x) = (cx.g, cx.x(0));
    let dx = cx.wanted(0, || {
        let [y, dy] = [cx.y(0), cx.dy()].map(|v| wide(g, v));
        let sum = g.reduce_sum(dy, &[op.axis], true);
        narrowed(cx, g.sub(dy, g.mul(g.exp(y), sum)), x)
    });
    Ok(vec![dx])
}

impl GraphBuilder {
    /// The logarithm of softmax along one axis: x\[…\] → the same type.
    #[track_caller]
    pub fn log_softmax(&self, x: Value, axis: i64) -> Value {
        self.apply(LogSoftmax { axis }, &[x])
    }
}
