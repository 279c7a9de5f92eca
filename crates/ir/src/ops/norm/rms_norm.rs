//! `RmsNorm`: rows brought to a mean square of 1.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::layer_norm::{infer_norm, norm_samples};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = x/√(mean x² + ε)·(weight_offset + γ) + β over axes `axis`…r−1 (ONNX RMSNormalization with a β). γ and β
    /// broadcast to x. The statistic is f32.
    pub struct RmsNorm {
        /// First normalized axis.
        axis: i64 = -1,
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
        /// Added to γ: 1 for models that store γ − 1.
        weight_offset: f32 = 0.0 => FINITE,
    }
}

impl OpDef for RmsNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta?"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_norm(cx, self.axis)
    }

    fn samples() -> Vec<Sample> {
        let mut samples = norm_samples(|g, x, gamma, beta, axis| {
            let op = RmsNorm { axis, epsilon: 1e-5, weight_offset: 0.0 };
            g.apply_all(op, &[Some(x), Some(gamma), beta])[0]
        });
        let case = |label: &str, d: DType, weight_offset: f32, fill: Fill| {
            Sample::graph(label, |g| {
                let (x, gamma) =
                    (g.input("x", tensor(d, [5u64, 130])), g.param("gamma", tensor(d, [130u64])));
                g.output("y", g.apply(RmsNorm { axis: -1, epsilon: 1e-6, weight_offset }, &[x, gamma]));
            })
            .fill("x", fill)
        };
        samples.push(case("weights less one", DType::F32, 1.0, Fill::Normal));
        samples.push(case("weights less one, bf16", DType::BF16, 1.0, Fill::Normal));
        samples.push(case("squares beyond f16", DType::F16, 0.0, Fill::Uniform(-6e4, 6e4)));
        samples
    }

    /// γ and β over exactly the normalized axes, which is what kernels read.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let plain = RmsNorm { weight_offset: 0.0, ..self.clone() };
        super::scales::legalize(graph, id, self.axis, self.weight_offset, plain.into())
    }
}

impl GraphBuilder {
    /// Rows of the last axis brought to a mean square of 1: x\[…, D\], γ of \[D\] → x's type.
    #[track_caller]
    pub fn rms_norm(&self, x: Value, gamma: Value, epsilon: f32) -> Value {
        self.apply(RmsNorm { axis: -1, epsilon, weight_offset: 0.0 }, &[x, gamma])
    }
}
