//! `LayerNorm`: rows brought to mean 0 and deviation 1.

use crate::builder::all_or_mistake;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::norm::rows_rule::Rows;
use crate::ops::norm::statistics::{statistics_samples, with_statistics};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// y = (x − μ)/√(σ² + ε)·γ + β over axes `axis`…r−1 (ONNX LayerNormalization, first result); σ² is biased. γ and β
    /// broadcast to x; without them they are 1 and 0, and β comes with γ alone. Statistics are f32, the variance from
    /// differences to the mean. With `statistics`, μ and 1/√(σ² + ε) are results, too: f32, with extent 1 on the
    /// normalized axes; of rows without elements they are NaN. What nobody reads of them is not computed.
    pub struct LayerNorm {
        /// First normalized axis.
        axis: i64 = -1,
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
        /// Whether mean and inverse deviation are results, too.
        statistics: bool = false,
    }
}

impl Default for LayerNorm {
    fn default() -> LayerNorm {
        LayerNorm { axis: -1, epsilon: 1e-5, statistics: false }
    }
}

/// Type rule of a normalization: the scales have x's dtype and broadcast to it.
pub(crate) fn infer_norm(cx: &Infer<'_>, axis: i64) -> Result<Types, OpError> {
    cx.expect_dtype(0, FLOATS)?;
    let x = cx.ty(0)?;
    cx.axis(axis, x.rank())?;
    let mut shape = x.shape.clone();
    for i in [1, 2].into_iter().filter(|&i| cx.opt(i).is_some()) {
        cx.same_dtype(0, i)?;
        let scale = &cx.ty(i)?.shape;
        cx.broadcast_to(scale, &x.shape)?;
        // A scale of constant extent says what a symbolic one of x must be, here as in the product that it becomes.
        shape = cx.broadcast_shapes(&shape, scale)?;
    }
    one(x.dtype(), shape)
}

impl OpDef for LayerNorm {
    const OPERANDS: &'static [&'static str] = &["x", "gamma?", "beta?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        if cx.opt(2).is_some() {
            cx.ty(1)?;
        }
        let types = infer_norm(cx, self.axis)?;
        if self.statistics { with_statistics(types, self.axis, 2) } else { Ok(types) }
    }

    fn samples() -> Vec<Sample> {
        let mut samples = norm_samples(|g, x, gamma, beta, axis| {
            let op = LayerNorm { axis, ..LayerNorm::default() };
            g.apply_all(op, &[Some(x), Some(gamma), beta])[0]
        });
        let offset = |label: &str, d: DType, fill: Fill, epsilon: f32| {
            Sample::graph(label, |g| {
                let x = g.input("x", tensor(d, [5u64, 384]));
                let (gamma, beta) =
                    (g.param("gamma", tensor(d, [384u64])), g.param("beta", tensor(d, [384u64])));
                g.output("y", g.layer_norm(x, gamma, Some(beta), epsilon));
            })
            .fill("x", fill)
        };
        samples.push(offset(
            "a mean far above the deviation",
            DType::F32,
            Fill::Uniform(9999.0, 10_001.0),
            1e-5,
        ));
        samples.extend(FLOATS.iter().map(|&d| {
            Sample::graph(&format!("{d} without scales"), |g| {
                let x = g.input("x", tensor(d, [3u64, 2, 37]));
                g.output("y", g.apply(LayerNorm { axis: 1, epsilon: 1e-3, ..LayerNorm::default() }, &[x]));
            })
        }));
        samples.push(offset("equal values", DType::F32, Fill::Constant(1e4), 1e-12));
        samples.push(offset("f16 near its largest value", DType::F16, Fill::Uniform(5e4, 6.5e4), 1e-5));
        samples.extend(statistics_samples(|axis| {
            LayerNorm { axis, statistics: true, ..LayerNorm::default() }.into()
        }));
        samples
    }

    /// γ and β over exactly the normalized axes, which is what kernels read; statistics apart.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        if self.statistics {
            let plain = LayerNorm { statistics: false, ..self.clone() };
            return super::statistics::apart(graph, id, plain.into(), self.axis, self.epsilon);
        }
        super::scales::legalize(graph, id, self.axis, 0.0, self.clone().into())
    }
}

type Norm<'a> = &'a dyn Fn(&GraphBuilder, Value, Value, Option<Value>, i64) -> Value;

fn case(d: DType, x: &[u64], scale: &[u64], beta: bool, axis: i64, apply: Norm<'_>) -> Sample {
    Sample::graph(&format!("{d} {x:?} from {axis} scale {scale:?} beta {beta}"), |g| {
        let v = g.input("x", tensor(d, x.iter().copied()));
        let gamma = g.param("gamma", tensor(d, scale.iter().copied()));
        let beta = beta.then(|| g.param("beta", tensor(d, scale.iter().copied())));
        g.output("y", apply(g, v, gamma, beta, axis));
    })
}

/// Samples of a normalization over the last axes.
pub(crate) fn norm_samples(
    apply: impl Fn(&GraphBuilder, Value, Value, Option<Value>, i64) -> Value,
) -> Vec<Sample> {
    let f = DType::F32;
    let mut samples = Vec::new();
    for &n in crate::ops::elementwise::samples::E0_SIZES {
        samples.push(case(f, &[3, n], &[n], n % 2 == 1, -1, &apply));
    }
    for d in FLOATS.iter().copied() {
        samples.extend([true, false].map(|beta| case(d, &[2, 7, 96], &[96], beta, -1, &apply)));
    }
    let shapes: &[(&[u64], &[u64], i64)] = &[
        (&[37], &[37], 0),
        (&[2, 3, 4, 5], &[4, 5], -2),
        (&[2, 3, 4, 5], &[2, 3, 4, 5], 0),
        (&[2, 3, 4, 5], &[5], 1),
        (&[2, 3, 5], &[2, 1, 5], -1),
        (&[2, 3, 5], &[3, 1], -1),
        (&[2, 5], &[], -1),
        (&[2, 5], &[1], -1),
        (&[0, 5], &[5], -1),
        (&[70_000, 3], &[3], -1),
        // Rows of which a thread of 256 keeps 4, 8 and 16 quads.
        (&[2, 3001], &[3001], -1),
        (&[1, 6002], &[6002], -1),
        (&[1, 12_001], &[12_001], -1),
        (&[2, 20_000], &[20_000], -1),
        (&[129, 384], &[384], -1),
        (&[1, 2, 1, 3, 2, 1, 2, 2], &[2, 2], -2),
    ];
    samples.extend(shapes.iter().map(|(x, s, axis)| case(f, x, s, true, *axis, &apply)));
    let edge = |values: Vec<f64>| {
        let label = format!("{values:?}");
        let sample = case(f, &[3, 4], &[4], true, -1, &apply);
        Sample { label, ..sample }.fill("x", Fill::Floats(values))
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    samples.push(edge(vec![1.0, nan, 2.0, 3.0, 0.5, 0.0, 1.0, 2.0, inf, 0.0, -1.0, 4.0]));
    samples.push(edge(vec![0.0; 12]));
    samples.push(Sample::graph("of a transposed operand", |g| {
        let (x, gamma) = (g.input("x", tensor(f, [37u64, 5])), g.param("gamma", tensor(f, [37u64])));
        g.output("y", apply(g, g.transpose(x, &[]), gamma, None, -1));
    }));
    samples.extend([0, 1, 19, 64].map(|n| {
        Sample::graph(&format!("symbolic rows, {n} of 64"), |g| {
            let x = g.input("x", tensor(f, [2.into(), sym("n", 0..=64), 48.into()]));
            let (gamma, beta) = (g.param("gamma", tensor(f, [48u64])), g.param("beta", tensor(f, [48u64])));
            g.output("y", apply(g, x, gamma, Some(beta), -1));
        })
        .bind("n", n)
    }));
    samples
}

/// With r the inverse deviation, x̂ = (x − μ)·r and u = dy·γ: dx = r·(u − mean u − x̂·(Σ u·x̂ + dr·r)/n) + dμ/n,
/// dγ = Σ dy·x̂, dβ = Σ dy.
fn rule(op: &LayerNorm, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let &LayerNorm { axis, epsilon, statistics } = op;
    Ok(Rows { axis, epsilon, offset: 0.0, centred: true, statistics }.gradients(cx))
}

impl GraphBuilder {
    /// Rows of the last axis brought to mean 0 and deviation 1: x\[…, D\], γ and β of \[D\] → x's type.
    #[track_caller]
    pub fn layer_norm(&self, x: Value, gamma: Value, beta: Option<Value>, epsilon: f32) -> Value {
        let op = LayerNorm { epsilon, ..LayerNorm::default() };
        self.apply_all(op, &[Some(x), Some(gamma), beta])[0]
    }

    /// A norm from any axis on with its mean and inverse deviation (ONNX LayerNormalization, all three results): x, γ
    /// and β that broadcast to it → x's type, and twice f32 with extent 1 on the normalized axes. Errors as of
    /// [`LayerNorm`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::LayerNorm;
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma) = (g.input("x", f32([8, 64])), g.param("gamma", f32([64])));
    /// let (y, mean, inverse) = g.layer_norm_with_statistics(x, Some(gamma), None, LayerNorm::default());
    /// for (name, v) in [("y", y), ("mean", mean), ("inverse", inverse)] {
    ///     g.output(name, v);
    /// }
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn layer_norm_with_statistics(
        &self,
        x: Value,
        gamma: Option<Value>,
        beta: Option<Value>,
        op: LayerNorm,
    ) -> (Value, Value, Value) {
        let results = self.apply_all(LayerNorm { statistics: true, ..op }, &[Some(x), gamma, beta]);
        let [y, mean, inverse] = all_or_mistake(&results);
        (y, mean, inverse)
    }
}
