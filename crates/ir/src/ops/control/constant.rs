//! `Constant`: data written in the graph.

use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::ValueType;
use pumice_types::tensor::byte_count;
use pumice_types::{DType, Tensor};
use std::sync::Arc;

crate::op! {
    /// Data written in the graph (ONNX Constant). Exact for every dtype.
    pub struct Constant {
        /// The data; dtype and shape are its own.
        data: Arc<Tensor>,
    }
}

impl OpDef for Constant {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, _cx: &Infer<'_>) -> Result<Types, OpError> {
        Ok(smallvec::smallvec![ValueType::fixed(self.data.encoding(), self.data.shape())])
    }

    fn samples() -> Vec<Sample> {
        let exact = |label: &str, t: Tensor| {
            Sample::graph(label, |g| {
                let c = g.constant(t.clone());
                g.output("y", c);
            })
        };
        let every = DType::ALL.into_iter().map(|d| {
            let bytes = byte_count(d, &[2, 3]).expect("six elements are few");
            let bytes: Vec<u8> = (0..bytes).map(|i| (i % 2) as u8).collect();
            exact(&format!("constant {d}"), Tensor::from_bytes(d, &[2, 3], bytes).expect("six elements"))
        });
        let edges = [
            ("u32 above 2^31", Tensor::new(&[u32::MAX, 1 << 31], &[2])),
            ("i64 above 2^24 and 2^32", Tensor::new(&[(1i64 << 24) + 1, (1 << 32) + 1, i64::MIN], &[3])),
            ("rank 0", Tensor::new(&[7i32], &[])),
            ("empty", Tensor::new::<f32>(&[], &[0, 4])),
            ("NaN and infinities", Tensor::new(&[f32::NAN, f32::INFINITY, -0.0], &[3])),
        ];
        every.chain(edges.into_iter().map(|(l, t)| exact(l, t.expect("lengths agree")))).collect()
    }
}
