//! `LogSoftmax`: the logarithm of softmax.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::elementwise::{FLOATS, infer_unary};
use crate::ops::softmax::row_samples;
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

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.axis(self.axis, cx.ty(0)?.rank())?;
        infer_unary(cx, FLOATS, None)
    }

    fn samples() -> Vec<Sample> {
        row_samples(|g, x, axis| g.log_softmax(x, axis))
    }
}

impl GraphBuilder {
    /// The logarithm of softmax along one axis: x\[…\] → the same type.
    #[track_caller]
    pub fn log_softmax(&self, x: Value, axis: i64) -> Value {
        self.apply(LogSoftmax { axis }, &[x])
    }
}
