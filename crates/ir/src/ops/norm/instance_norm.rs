//! `InstanceNorm`: each channel brought to mean 0 and deviation 1.

use super::channels::{expect_channels, of_groups};
use super::group_norm::{case, channel_samples};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = (x − μ)/√(σ² + ε)·γ + β (ONNX InstanceNormalization): μ and σ², which is biased, of each element of the
    /// batch and each channel, axis 1; x\[B, C, …\], γ and β of \[C\] → x's type. A channel of one element becomes β.
    /// Statistics are f32, the variance from differences to the mean. NaN and infinities make their channel NaN.
    pub struct InstanceNorm {
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
    }
}

impl Default for InstanceNorm {
    fn default() -> InstanceNorm {
        InstanceNorm { epsilon: 1e-5 }
    }
}

impl OpDef for InstanceNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = expect_channels(cx, 1..3)?;
        one(x.dtype(), x.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let mut samples = channel_samples(3, &|g, [x, gamma, beta], epsilon| {
            g.instance_norm(x, gamma, beta, InstanceNorm { epsilon })
        });
        let shapes: [&[u64]; 5] = [&[2, 3], &[2, 0, 3], &[1, 67, 7, 7], &[1, 2, 150, 140], &[70_000, 1, 2]];
        samples.extend(shapes.map(|shape| {
            case(&format!("{shape:?}"), DType::F32, shape, &|g, [x, gamma, beta]| {
                g.instance_norm(x, gamma, beta, InstanceNorm::default())
            })
        }));
        samples
    }

    /// Rows of channels, normalized, scaled and shifted.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let channels = graph.ty(graph.node(id).output()).shape[1].clone();
        of_groups(graph, id, [channels, DimExpr::constant(1)], self.epsilon)
    }
}

impl GraphBuilder {
    /// Each channel of each element of the batch brought to mean 0 and deviation 1 (ONNX InstanceNormalization):
    /// x\[B, C, …\], γ and β of \[C\] → x's type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::instance_norm::InstanceNorm;
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma, beta) = (g.input("x", f32([1, 3, 8, 8])), g.param("gamma", f32([3])), g.param("beta", f32([3])));
    /// g.output("y", g.instance_norm(x, gamma, beta, InstanceNorm::default()));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn instance_norm(&self, x: Value, gamma: Value, beta: Value, op: InstanceNorm) -> Value {
        self.apply(op, &[x, gamma, beta])
    }
}
