//! `BatchNorm`: channels shifted and scaled by statistics that are known.

use super::channels::{Steps, expect_channels};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Affine, Grad, Mul, OpDef, Rsqrt, Sub};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = x·s + (β − μ·s) with s = γ/√(σ² + ε), for each channel c, axis 1 (ONNX BatchNormalization of inference):
    /// x\[B, C, …\], γ, β, μ and σ² of \[C\] → x's type. Defined by the ops of that formula, in f32: scale and shift
    /// are made when weights are loaded.
    pub struct BatchNorm {
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
    }
}

impl OpDef for BatchNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta", "mean", "variance"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = expect_channels(cx, 1..5)?;
        one(x.dtype(), x.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let shapes: [&[u64]; 9] = [
            &[3, 5],
            &[2, 3, 17],
            &[2, 4, 9, 7],
            &[1, 2, 3, 4, 5],
            &[0, 3, 4, 4],
            &[2, 0, 3],
            &[2, 3, 0],
            &[1, 1_025, 3, 3],
            &[4, 64, 28, 28],
        ];
        let mut samples: Vec<Sample> = shapes.iter().map(|shape| case(DType::F32, shape)).collect();
        samples.extend(FLOATS.iter().map(|&d| case(d, &[2, 6, 5, 7])));
        samples.push(
            Sample::graph("no ε and channels last", |g| {
                let x = g.transpose(g.input("x", tensor(DType::F32, [2u64, 5, 4, 6])), &[0, 3, 1, 2]);
                g.output("y", applied(g, x, DType::F32, 6, 0.0));
            })
            .fill("variance", Fill::Uniform(0.25, 4.0)),
        );
        samples.extend([(0, 1), (2, 9), (4, 12)].map(|(b, n)| {
            Sample::graph(&format!("symbols {b} x {n}"), |g| {
                let x = g.input("x", tensor(DType::F32, [sym("b", 0..=4), 3.into(), sym("n", 1..=12)]));
                g.output("y", applied(g, x, DType::F32, 3, 1e-3));
            })
            .fill("variance", Fill::Uniform(0.25, 4.0))
            .bind("b", b)
            .bind("n", n)
        }));
        samples
    }

    /// BatchNorm(x) == Add(Mul(x, s), Sub(β, Mul(μ, s))), s == Mul(γ, Rsqrt(σ² + ε)), with casts to f32 and back.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let ty = graph.ty(node.output());
        let [x, gamma, beta, mean, variance] =
            [node.input(0)?, node.input(1)?, node.input(2)?, node.input(3)?, node.input(4)?];
        let mut steps = Steps::new(graph, id);
        let [x, gamma, beta, mean, variance] = [x, gamma, beta, mean, variance].map(|v| steps.widened(v));
        let raised = steps.add("raised", Affine { mul: 1.0, add: self.epsilon }, &[variance]);
        let root = steps.add("root", Rsqrt {}, &[raised]);
        let scale = steps.add("scale", Mul {}, &[gamma, root]);
        let moved = steps.add("moved", Mul {}, &[mean, scale]);
        let shift = steps.add("shift", Sub {}, &[beta, moved]);
        let (scale, shift) = (steps.column(scale, &ty.shape), steps.column(shift, &ty.shape));
        let scaled = steps.add("scaled", Mul {}, &[x, scale]);
        let y = steps.result(&[scaled, shift]);
        let mut patch = steps.patch;
        patch.replace(node.output(), y);
        Some(patch)
    }
}

fn case(d: DType, shape: &[u64]) -> Sample {
    Sample::graph(&format!("{d} {shape:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", applied(g, x, d, shape[1], 1e-5));
    })
    .fill("variance", Fill::Uniform(0.01, 4.0))
}

fn applied(g: &GraphBuilder, x: Value, d: DType, channels: u64, epsilon: f32) -> Value {
    let [gamma, beta, mean, variance] =
        ["gamma", "beta", "mean", "variance"].map(|name| g.param(name, tensor(d, [channels])));
    g.batch_norm(x, gamma, beta, mean, variance, epsilon)
}

impl GraphBuilder {
    /// Channels shifted and scaled by known statistics: x\[B, C, …\], four vectors of \[C\] → x's type.
    #[track_caller]
    pub fn batch_norm(
        &self,
        x: Value,
        gamma: Value,
        beta: Value,
        mean: Value,
        variance: Value,
        epsilon: f32,
    ) -> Value {
        self.apply(BatchNorm { epsilon }, &[x, gamma, beta, mean, variance])
    }
}
