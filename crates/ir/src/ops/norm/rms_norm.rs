//! `RmsNorm`: rows brought to a mean square of 1.

use crate::builder::all_or_mistake;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::layer_norm::{infer_norm, norm_samples};
use crate::ops::norm::rows_rule::Rows;
use crate::ops::norm::statistics::{statistics_samples, with_statistics};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = x/√(mean x² + ε)·(weight_offset + γ) + β over axes `axis`…r−1 (ONNX RMSNormalization with a β). γ and β
    /// broadcast to x. The statistic is f32. With `statistics`, 1/√(mean x² + ε) is a result, too: f32, with extent 1
    /// on the normalized axes; of rows without elements it is NaN. If nobody reads it, it is not computed.
    pub struct RmsNorm {
        /// First normalized axis.
        axis: i64 = -1,
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
        /// Added to γ: 1 for models that store γ − 1.
        weight_offset: f32 = 0.0 => FINITE,
        /// Whether the inverse deviation is a result, too.
        statistics: bool = false,
    }
}

impl Default for RmsNorm {
    fn default() -> RmsNorm {
        RmsNorm { axis: -1, epsilon: 1e-5, weight_offset: 0.0, statistics: false }
    }
}

impl OpDef for RmsNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let types = infer_norm(cx, self.axis)?;
        if self.statistics { with_statistics(types, self.axis, 1) } else { Ok(types) }
    }

    fn samples() -> Vec<Sample> {
        let mut samples = norm_samples(|g, x, gamma, beta, axis| {
            let op = RmsNorm { axis, ..RmsNorm::default() };
            g.apply_all(op, &[Some(x), Some(gamma), beta])[0]
        });
        let case = |label: &str, d: DType, weight_offset: f32, fill: Fill| {
            Sample::graph(label, |g| {
                let (x, gamma) =
                    (g.input("x", tensor(d, [5u64, 130])), g.param("gamma", tensor(d, [130u64])));
                g.output(
                    "y",
                    g.apply(RmsNorm { epsilon: 1e-6, weight_offset, ..RmsNorm::default() }, &[x, gamma]),
                );
            })
            .fill("x", fill)
        };
        samples.push(case("weights less one", DType::F32, 1.0, Fill::Normal));
        samples.push(case("weights less one, bf16", DType::BF16, 1.0, Fill::Normal));
        samples.push(case("squares beyond f16", DType::F16, 0.0, Fill::Uniform(-6e4, 6e4)));
        samples.extend(statistics_samples(|axis| {
            RmsNorm { axis, statistics: true, ..RmsNorm::default() }.into()
        }));
        samples
    }

    /// γ and β over exactly the normalized axes, which is what kernels read; statistics apart.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        if self.statistics {
            let plain = RmsNorm { statistics: false, ..self.clone() };
            return super::statistics::apart(graph, id, plain.into(), self.axis, self.epsilon);
        }
        let plain = RmsNorm { weight_offset: 0.0, ..self.clone() };
        super::scales::legalize(graph, id, self.axis, self.weight_offset, plain.into())
    }
}

/// With r the inverse deviation, x̂ = x·r and u = dy·(o + γ): dx = r·(u − x̂·(Σ u·x̂ + dr·r)/n), dγ = Σ dy·x̂,
/// dβ = Σ dy.
fn rule(op: &RmsNorm, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let &RmsNorm { axis, epsilon, weight_offset: offset, statistics } = op;
    Ok(Rows { axis, epsilon, offset, centred: false, statistics }.gradients(cx))
}

impl GraphBuilder {
    /// Rows of the last axis brought to a mean square of 1: x\[…, D\], γ of \[D\] → x's type.
    #[track_caller]
    pub fn rms_norm(&self, x: Value, gamma: Value, epsilon: f32) -> Value {
        self.apply(RmsNorm { epsilon, ..RmsNorm::default() }, &[x, gamma])
    }

    /// A norm from any axis on with its inverse deviation: x, γ and β that broadcast to it → x's type, and f32 with
    /// extent 1 on the normalized axes. Errors as of [`RmsNorm`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::RmsNorm;
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma) = (g.input("x", f32([8, 64])), g.param("gamma", f32([64])));
    /// let (y, inverse) = g.rms_norm_with_statistics(x, gamma, None, RmsNorm::default());
    /// g.output("y", y);
    /// g.output("inverse", inverse);
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn rms_norm_with_statistics(
        &self,
        x: Value,
        gamma: Value,
        beta: Option<Value>,
        op: RmsNorm,
    ) -> (Value, Value) {
        let results = self.apply_all(RmsNorm { statistics: true, ..op }, &[Some(x), Some(gamma), beta]);
        let [y, inverse] = all_or_mistake(&results);
        (y, inverse)
    }
}
