//! `GroupNorm`: groups of channels brought to mean 0 and deviation 1.

use super::channels::{expect_channels, of_groups};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::convolution::windows::of_group;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = (x − μ)/√(σ² + ε)·γ + β (ONNX GroupNormalization of opset 21): μ and σ², which is biased, of each element of
    /// the batch and each group of C/`num_groups` channels, axis 1, over all of their elements; x\[B, C, …\], γ and β
    /// of \[C\] → x's type. Groups that do not divide the channels are an error. Statistics are f32, the variance from
    /// differences to the mean. NaN and infinities make their own group NaN.
    pub struct GroupNorm {
        /// Groups of channels that lie side by side.
        num_groups: u64 = 1 => POSITIVE,
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
    }
}

impl Default for GroupNorm {
    fn default() -> GroupNorm {
        GroupNorm { num_groups: 1, epsilon: 1e-5 }
    }
}

impl OpDef for GroupNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = expect_channels(cx, 1..3)?;
        of_group(cx, &x.shape[1], self.num_groups, "the channels of `x`")?;
        one(x.dtype(), x.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let op = |num_groups| GroupNorm { num_groups, ..GroupNorm::default() };
        let mut samples = channel_samples(6, &|g, [x, gamma, beta], epsilon| {
            g.group_norm(x, gamma, beta, GroupNorm { epsilon, ..op(3) })
        });
        let shapes: [(&[u64], u64); 9] = [
            (&[2, 6, 5, 7], 1),
            (&[2, 6, 5, 7], 6),
            (&[3, 4], 2),
            (&[1, 1, 1], 1),
            (&[2, 0, 3], 4),
            (&[1, 320, 3, 3], 32),
            (&[1, 8, 33, 129], 2),
            (&[1, 4, 140, 140], 2),
            (&[9_000, 8, 2], 8),
        ];
        samples.extend(shapes.map(|(shape, groups)| {
            case(&format!("{shape:?} in {groups}"), DType::F32, shape, &|g, [x, gamma, beta]| {
                g.group_norm(x, gamma, beta, op(groups))
            })
        }));
        samples.push(case("with silu", DType::F16, &[2, 8, 4, 4], &|g, [x, gamma, beta]| {
            g.silu(g.group_norm(x, gamma, beta, op(4)))
        }));
        samples
    }

    /// Rows of groups, normalized, scaled and shifted.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let groups = DimExpr::from(self.num_groups);
        let channels = graph.ty(graph.node(id).output()).shape[1].exact_quotient(&groups)?;
        of_groups(graph, id, [groups, channels], self.epsilon)
    }
}

type Apply<'a> = &'a dyn Fn(&GraphBuilder, [Value; 3]) -> Value;

/// One sample of a norm of channels.
pub(super) fn case(label: &str, d: DType, shape: &[u64], apply: Apply<'_>) -> Sample {
    Sample::graph(label, |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, tensor(d, [shape[1]])));
        g.output("y", apply(g, [x, gamma, beta]));
    })
}

/// Samples of a norm of so many channels.
pub(super) fn channel_samples(
    channels: u64,
    apply: &dyn Fn(&GraphBuilder, [Value; 3], f32) -> Value,
) -> Vec<Sample> {
    let (f, usual) = (DType::F32, 1e-5);
    let with = |epsilon| move |g: &GraphBuilder, operands| apply(g, operands, epsilon);
    let mut samples: Vec<Sample> =
        FLOATS.iter().map(|&d| case(&format!("{d}"), d, &[2, channels, 5, 7], &with(usual))).collect();
    let of = |label: &str, shape: &[u64], epsilon| case(label, f, shape, &with(epsilon));
    samples.extend([
        of("a larger ε", &[2, channels, 9], 0.5),
        of("one element each", &[2, channels, 1], usual),
        of("3-D", &[1, channels, 3, 4, 5], usual),
        of("no batch", &[0, channels, 4], usual),
        of("no pixels", &[2, channels, 0, 3], usual),
        of("many", &[12_000, channels, 2], usual),
        of("equal values", &[2, channels, 33], 1e-3).fill("x", Fill::Constant(1e4)),
        of("far from 0", &[2, channels, 65], usual).fill("x", Fill::Uniform(9999.0, 10_001.0)),
        of("NaN and infinities", &[3, channels, 2], usual).fill("x", not_finite(6 * channels)),
        case("f16 near its largest", DType::F16, &[1, channels, 31], &with(usual))
            .fill("x", Fill::Uniform(5e4, 6.5e4)),
        Sample::graph("channels last", |g| {
            let x = g.transpose(g.input("x", tensor(f, [2, 5, 4, channels])), &[0, 3, 1, 2]);
            let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, tensor(f, [channels])));
            g.output("y", apply(g, [x, gamma, beta], usual));
        }),
    ]);
    samples.extend([(0, 1), (1, 3), (4, 12)].map(|(b, n)| {
        Sample::graph(&format!("symbols {b} x {n}"), |g| {
            let ty = tensor(f, [sym("b", 0..=4), channels.into(), sym("n", 1..=12), 2.into()]);
            let x = g.input("x", ty);
            let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, tensor(f, [channels])));
            g.output("y", apply(g, [x, gamma, beta], usual));
        })
        .bind("b", b)
        .bind("n", n)
    }));
    samples
}

/// Numbers of which the first is NaN and one in the middle infinite.
pub(super) fn not_finite(n: u64) -> Fill {
    let value = |i: u64| match i {
        0 => f64::NAN,
        _ if i == n / 2 => f64::INFINITY,
        _ => (i % 5) as f64 - 1.0,
    };
    Fill::Floats((0..n).map(value).collect())
}

impl GraphBuilder {
    /// Groups of channels brought to mean 0 and deviation 1 (ONNX GroupNormalization): x\[B, C, …\], γ and β of \[C\]
    /// → x's type. [`GroupNorm`] says the formula; groups must divide the channels.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::group_norm::GroupNorm;
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma, beta) = (g.input("x", f32([1, 8, 4, 4])), g.param("gamma", f32([8])), g.param("beta", f32([8])));
    /// let y = g.group_norm(x, gamma, beta, GroupNorm { num_groups: 4, ..GroupNorm::default() });
    /// g.output("y", g.silu(y));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn group_norm(&self, x: Value, gamma: Value, beta: Value, op: GroupNorm) -> Value {
        self.apply(op, &[x, gamma, beta])
    }
}
