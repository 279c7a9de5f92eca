//! `NormGrad`: the gradient of a norm of rows by what it normalizes.

use super::statistics::{inverse_of, rows_of, with_statistics};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::composed::composed;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// With μ and σ² the mean and the biased variance of x over axes `axis`…r−1, r = 1/√(σ² + ε), x̂ = (x − μ)·r and
    /// u = dy·factor: r·(u − mean u − x̂·mean(u·x̂)), the gradient of `LayerNorm` by x where dy is of its result. Not
    /// centred, that of `RmsNorm`: r = 1/√(mean x² + ε), x̂ = x·r, r·(u − x̂·mean(u·x̂)). x and dy are f32 of one
    /// shape, the factor, 1 where it is not given, f32 of exactly the normalized axes. With `statistics`, μ, where
    /// centred, and r are results, too: f32 with extent 1 on the normalized axes; of rows without elements they are
    /// NaN.
    pub struct NormGrad {
        /// First normalized axis.
        axis: i64 = -1,
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
        /// Whether the mean is taken off.
        centred: bool = true,
        /// Whether mean and inverse deviation are results, too.
        statistics: bool = false,
    }
}

impl Default for NormGrad {
    fn default() -> NormGrad {
        NormGrad { axis: -1, epsilon: 1e-5, centred: true, statistics: false }
    }
}

impl OpDef for NormGrad {
    const OPERANDS: &'static [&'static str] = &["x", "dy", "factor?"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let shape = alike(cx)?;
        let axis = cx.axis(self.axis, shape.len())?;
        if let Some(factor) = cx.opt(2) {
            cx.expect_rank(2, shape.len() - axis)?;
            let pairs = factor.shape.iter().zip(&shape[axis..]);
            pairs.into_iter().try_for_each(|(a, b)| cx.equal(a, b, "`factor` and the normalized axes"))?;
        }
        let types = one(DType::F32, shape.to_vec())?;
        let count = 1 + usize::from(self.centred);
        if self.statistics { with_statistics(types, self.axis, count) } else { Ok(types) }
    }

    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (centred, statistics) in [(true, false), (true, true), (false, false), (false, true)] {
            let op = NormGrad { centred, statistics, ..NormGrad::default() };
            samples.extend(samples_of(&op));
            let op = NormGrad { epsilon: 0.5, ..op };
            samples.push(case(&[4, 33], &op, true));
        }
        samples
    }

    /// Of reductions and elementwise ops.
    fn composition(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        composed(graph, id, |g, operands| match operands {
            [Some(x), Some(dy), factor @ ..] => {
                self.composed(g, [*x, *dy], factor.first().copied().flatten()).unwrap_or_default()
            }
            _ => Vec::new(),
        })
    }
}

/// The extents of x, which dy has, too: all operands are f32.
pub(super) fn alike<'a>(cx: &Infer<'a>) -> Result<&'a [DimExpr], OpError> {
    for i in (0..cx.len()).filter(|&i| i < 2 || cx.opt(i).is_some()) {
        cx.expect_dtype(i, &[DType::F32])?;
    }
    let shape = &cx.ty(0)?.shape;
    cx.expect_rank(1, shape.len())?;
    let upstream = cx.ty(1)?.shape.iter();
    shape.iter().zip(upstream).try_for_each(|(a, b)| cx.equal(a, b, "extents of `x` and of `dy`"))?;
    Ok(shape)
}

impl NormGrad {
    fn composed(&self, g: &GraphBuilder, [x, dy]: [Value; 2], factor: Option<Value>) -> Option<Vec<Value>> {
        let g = g.composition("norm_grad");
        let axes = rows_of(self.axis, g.type_of(x)?.rank())?;
        let mean_of = |v: Value| g.reduce_mean(v, &axes, true);
        let mean = self.centred.then(|| mean_of(x));
        let about = mean.map_or(x, |mean| g.sub(x, mean));
        let inverse = inverse_of(&g, about, &axes, self.epsilon);
        let u = factor.map_or(dy, |factor| g.mul(dy, factor));
        let dx = g.mul(self.turned(&g, u, g.mul(about, inverse), &axes), inverse);
        let statistics = mean.into_iter().chain([inverse]).filter(|_| self.statistics);
        Some(std::iter::once(dx).chain(statistics).collect())
    }
}

impl NormGrad {
    /// u − mean u − x̂·mean(u·x̂).
    fn turned(&self, g: &GraphBuilder, u: Value, normal: Value, axes: &[i64]) -> Value {
        let mean_of = |v: Value| g.reduce_mean(v, axes, true);
        let along = g.mul(normal, mean_of(g.mul(u, normal)));
        let level = self.centred.then(|| mean_of(u));
        g.sub(level.map_or(u, |level| g.sub(u, level)), along)
    }
}

fn samples_of(op: &NormGrad) -> Vec<Sample> {
    let mut samples = of_shapes(op);
    samples.extend(of_values(op));
    samples.extend([0, 1, 19, 64].map(|n| of_symbolic_rows(op, n)));
    samples.extend([0, 1, 7].map(|n| of_symbolic_elements(op, n)));
    samples
}

/// Extents, and the first normalized axis.
const SHAPES: [(&[u64], i64); 16] = [
    (&[3, 1], -1),
    (&[3, 4], -1),
    (&[37], 0),
    (&[2, 3, 4, 5], -2),
    (&[2, 3, 4, 5], 0),
    (&[0, 5], -1),
    (&[4, 0], -1),
    (&[2, 7, 96], -1),
    (&[129, 384], -1),
    (&[5, 127], -1),
    (&[3, 1025], -1),
    (&[70_000, 3], -1),
    // Rows of which a thread of 256 keeps 4 and 8 quads, and of which it keeps none.
    (&[2, 3001], -1),
    (&[2, 6002], -1),
    (&[2, 20_000], -1),
    (&[1, 2, 1, 3, 2, 1, 2, 2], -2),
];

fn of_shapes(op: &NormGrad) -> Vec<Sample> {
    let scaled = SHAPES.iter().map(|&(shape, axis)| case(shape, &NormGrad { axis, ..op.clone() }, true));
    let without = [&[5u64, 130][..], &[3, 2, 8]].map(|shape| case(shape, op, false));
    scaled.chain(without).collect()
}

/// What is not finite in two of three rows.
const EDGES: [f64; 12] = [1.0, f64::NAN, 2.0, 3.0, 0.5, 0.0, 1.0, 2.0, f64::INFINITY, 0.0, -1.0, 4.0];

fn of_values(op: &NormGrad) -> Vec<Sample> {
    let filled = |label: &str, shape: &[u64], fill| {
        Sample { label: format!("{op:?} {label}"), ..case(shape, op, true) }.fill("x", fill)
    };
    let edges = EDGES.to_vec();
    vec![
        filled("far from 0", &[6, 96], Fill::Uniform(9999.0, 10_001.0)),
        filled("of equal values", &[6, 96], Fill::Constant(-3.0)),
        filled("of what is not finite", &[3, 4], Fill::Floats(edges)),
        Sample::graph(&format!("{op:?} of transposed operands"), |g| {
            let [x, dy] = ["x", "dy"].map(|v| g.transpose(g.input(v, tensor(DType::F32, [37u64, 5])), &[]));
            outputs(g, op, [x, dy], Some(g.param("factor", tensor(DType::F32, [37u64]))));
        }),
    ]
}

fn of_symbolic_rows(op: &NormGrad, n: u64) -> Sample {
    Sample::graph(&format!("{op:?} of symbolic rows, {n} of 64"), |g| {
        let shape = || tensor(DType::F32, [2.into(), sym("n", 0..=64), 48.into()]);
        let [x, dy] = ["x", "dy"].map(|v| g.input(v, shape()));
        outputs(g, op, [x, dy], Some(g.param("factor", tensor(DType::F32, [48u64]))));
    })
    .bind("n", n)
}

fn of_symbolic_elements(op: &NormGrad, n: u64) -> Sample {
    Sample::graph(&format!("{op:?} of rows of {n} symbolic elements"), |g| {
        let x = g.input("x", tensor(DType::F32, [3.into(), sym("n", 0..=9)]));
        let dy = g.input("dy", tensor(DType::F32, [1.into(), 3.into(), sym("n", 0..=9)]));
        outputs(g, op, [x, g.reshape(dy, &[3, -1])], None);
    })
    .bind("n", n)
}

fn case(shape: &[u64], op: &NormGrad, scaled: bool) -> Sample {
    let of = if scaled { "" } else { " without factor" };
    Sample::graph(&format!("{op:?} {shape:?}{of}"), |g| {
        let x = g.input("x", tensor(DType::F32, shape.iter().copied()));
        // Of another type than x where there is no factor: of x itself the gradient is 0.
        let more = usize::from(!scaled);
        let dy = g.input("dy", tensor(DType::F32, [1].iter().take(more).chain(shape).copied()));
        let dy = if scaled { dy } else { g.squeeze(dy, &[0]) };
        let axis = rows_of(op.axis, shape.len()).map_or(0, |axes| shape.len() - axes.len());
        let factor = || g.param("factor", tensor(DType::F32, shape[axis..].iter().copied()));
        outputs(g, op, [x, dy], scaled.then(factor));
    })
}

/// Every result is an output.
fn outputs(g: &GraphBuilder, op: &NormGrad, [x, dy]: [Value; 2], factor: Option<Value>) {
    for (i, y) in g.apply_all(op.clone(), &[Some(x), Some(dy), factor]).into_iter().enumerate() {
        g.output(&format!("y{i}"), y);
    }
}

impl GraphBuilder {
    /// The gradient of a norm over rows, from an axis on, by what it normalizes: x, the gradient of the norm's result
    /// and its factor of exactly the normalized axes → x's type; with `statistics` mean and inverse deviation besides.
    /// [`NormGrad`] says the formula.
    #[track_caller]
    pub fn norm_grad(&self, x: Value, dy: Value, factor: Option<Value>, op: NormGrad) -> Vec<Value> {
        self.apply_all(op, &[Some(x), Some(dy), factor])
    }
}
