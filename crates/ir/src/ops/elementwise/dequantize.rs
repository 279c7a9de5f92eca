//! `Dequantize`: the values that blocks stand for.

use super::dequantize_samples;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use pumice_types::{DType, Encoding};

crate::op! {
    /// The values that the blocks of x stand for: x\[…\] in a block encoding → f32\[…\], in f32 arithmetic in the order
    /// that OPS 3.4.2 writes, so every bit agrees with the public gguf package. A scale that is infinite or NaN gives
    /// what that arithmetic gives.
    ///
    /// Kernels that read blocks read them through this op: then it is no step of its own. Where another kernel wants
    /// its values, they are written once, when the weights are loaded.
    pub struct Dequantize {}
}

impl OpDef for Dequantize {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::No("its operand is blocks");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        match x.encoding {
            Encoding::Blocks(_) => one(DType::F32, x.shape.clone()),
            Encoding::Codes(_) => Err(OpError::Blocks {
                value: format!("operand `{}`", cx.name(0)),
                encoding: x.encoding,
                op: "dequantize",
            }),
            Encoding::Plain(dtype) => Err(OpError::DType {
                operand: cx.name(0),
                dtype,
                expected: "expected blocks; other dtypes are converted by cast".to_owned(),
            }),
        }
    }

    fn samples() -> Vec<Sample> {
        dequantize_samples::samples()
    }

    fn is_decoding(&self, _: Encoding) -> bool {
        true
    }

    fn handles_blocks(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// The values that blocks stand for: x\[…\] of a block encoding → f32\[…\].
    #[track_caller]
    pub fn dequantize(&self, x: Value) -> Value {
        self.apply(Dequantize {}, &[x])
    }
}
