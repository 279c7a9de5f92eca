//! `BatchNormTraining`: channels brought to mean 0 and deviation 1 of the batch, and the running statistics.

use super::channels::{Steps, expect_channels, expect_number_each};
use super::group_norm::not_finite;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::{
    Add, Affine, BatchNorm, Cast, Div, Extent, Grad, Mul, OpDef, ReduceMean, Relu, Reshape, Rsqrt, Square,
    Sub,
};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = (x − μ)/√(σ² + ε)·γ + β with μ and σ² of each channel, axis 1, over the batch and all further axes (ONNX
    /// BatchNormalization of training); σ² is biased. x\[B, C, …\], γ and β of \[C\] in x's dtype, running mean and
    /// running variance of \[C\] in any float dtype → y of x's type; the next running mean and variance,
    /// momentum·old + (1 − momentum)·new; μ and σ² in f32. Statistics are f32, the variance from differences to the
    /// mean. Of no elements they are NaN.
    pub struct BatchNormTraining {
        /// ε.
        epsilon: f32 = 1e-5 => NOT_NEGATIVE,
        /// What the running statistics keep of themselves.
        momentum: f32 = 0.9 => FINITE,
        /// Whether the running variance moves towards σ²·n/(n − 1), as in PyTorch, instead of σ²; n = 1 leaves σ².
        unbiased_running: bool = false,
    }
}

impl Default for BatchNormTraining {
    fn default() -> BatchNormTraining {
        BatchNormTraining { epsilon: 1e-5, momentum: 0.9, unbiased_running: false }
    }
}

impl OpDef for BatchNormTraining {
    const OPERANDS: &'static [&'static str] = &["x", "gamma", "beta", "running_mean", "running_variance"];
    const GRAD: Grad<Self> = Grad::Rule(super::batch_rule::rule);

    /// What is normalized moves everything; factor and shift move the first result alone, each running statistic its
    /// own next one.
    fn result_moves_with(&self, result: usize, operand: usize) -> bool {
        match operand {
            0 => true,
            1 | 2 => result == 0,
            _ => result + 2 == operand,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = expect_channels(cx, 1..3)?;
        for i in 3..5 {
            cx.expect_dtype(i, FLOATS)?;
            expect_number_each(cx, i, &x.shape[1])?;
        }
        let of_batch = ValueType::new(DType::F32, [x.shape[1].clone()]);
        let running = [cx.ty(3)?, cx.ty(4)?].map(|ty| ValueType::new(ty.dtype(), [x.shape[1].clone()]));
        let [mean, variance] = running;
        Ok(smallvec::smallvec![x.clone(), mean, variance, of_batch.clone(), of_batch])
    }

    fn samples() -> Vec<Sample> {
        let op = BatchNormTraining::default();
        let unbiased = BatchNormTraining { unbiased_running: true, momentum: 0.25, epsilon: 0.125 };
        let shapes: [&[u64]; 11] = [
            &[8, 5],
            &[2, 3, 17],
            &[4, 3, 9, 7],
            &[2, 2, 3, 4, 5],
            &[1, 4, 1],
            &[0, 3, 4],
            &[2, 0, 3],
            &[3, 1_025, 2],
            &[33, 2, 30, 31],
            // One channel, alone and of one pixel.
            &[8, 1],
            &[8, 1, 1, 1],
        ];
        let mut samples: Vec<Sample> = shapes.iter().map(|shape| case(DType::F32, shape, &op)).collect();
        samples
            .extend([&[6u64, 3, 4], &[1, 3, 1], &[1, 1, 2]].map(|shape| case(DType::F32, shape, &unbiased)));
        samples.extend(FLOATS.iter().map(|&d| case(d, &[2, 6, 5, 7], &op)));
        let filled = |label: &str, fill| {
            Sample { label: label.into(), ..case(DType::F32, &[7, 9, 5], &op) }.fill("x", fill)
        };
        samples.push(filled("NaN and infinities", not_finite(7 * 9 * 5)));
        samples.push(filled("far from 0", Fill::Uniform(9999.0, 10_001.0)));
        samples.push(Sample::graph("channels last, running statistics of 16 bits", |g| {
            let x = g.transpose(g.input("x", tensor(DType::F32, [2u64, 5, 4, 6])), &[0, 3, 1, 2]);
            all(g, x, [DType::F32, DType::F16, DType::BF16], 6, &op);
        }));
        samples.extend([(0, 4), (1, 1), (2, 9), (4, 12)].map(|(b, n)| {
            Sample::graph(&format!("symbols {b} x {n}"), |g| {
                let x = g.input("x", tensor(DType::F32, [sym("b", 0..=4), 3.into(), sym("n", 1..=12)]));
                all(g, x, [DType::F32; 3], 3, &unbiased);
            })
            .bind("b", b)
            .bind("n", n)
        }));
        samples.push(written(&BatchNormTraining { momentum: 0.5, ..op }));
        samples.push(written(&unbiased));
        samples
    }

    fn has_batch_statistics(&self) -> bool {
        true
    }

    /// BatchNorm(x) by the running statistics, which stay as they are; they stand for those of the batch, too.
    fn for_inference(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = Patch::new(format!("infer {name}"));
        let running = [node.input(3)?, node.input(4)?];
        let mut cast = |v: ValueId, to: DType| {
            let same = graph.ty(v).dtype() == to;
            let old = PatchRef::Old(v);
            if same { old } else { patch.add(Cast { to }, format!("{name}.statistic"), &[old]) }
        };
        let dtype = graph.ty(node.output()).dtype();
        let [mean, variance] = running.map(|v| cast(v, dtype));
        let of_batch = running.map(|v| cast(v, DType::F32));
        let [x, gamma, beta] = [node.input(0)?, node.input(1)?, node.input(2)?].map(PatchRef::Old);
        let y = patch.add(BatchNorm { epsilon: self.epsilon }, name, &[x, gamma, beta, mean, variance]);
        let results = [y].into_iter().chain(running.map(PatchRef::Old)).chain(of_batch);
        for (&old, new) in node.outputs.iter().zip(results) {
            patch.replace(old, new);
        }
        Some(patch)
    }

    /// BatchNormTraining(x) == Add(Mul(d, s), β), d == Sub(x, μ), s == Mul(γ, Rsqrt(σ² + ε)), μ == ReduceMean(x),
    /// σ² == ReduceMean(Square(d)), running == Add(Mul(old, momentum), Mul(new, 1 − momentum)): in f32, with casts.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let (x, shape) = (node.input(0)?, graph.ty(node.output()).shape.clone());
        let mut steps = Steps::new(graph, id);
        let batch = Batch::of(&mut steps, x, &shape);
        let y = self.normalized(&mut steps, &batch, [node.input(1)?, node.input(2)?], &shape);
        let flat = Reshape { shape: vec![shape[1].clone()] };
        let [mean, variance] = [("means", batch.mean), ("variances", batch.variance)]
            .map(|(name, v)| steps.add(name, flat.clone(), &[v]));
        let moved = if self.unbiased_running { unbiased(&mut steps, x, &shape, variance) } else { variance };
        let running = [(node.input(3)?, mean), (node.input(4)?, moved)];
        let [running_mean, running_variance] =
            running.map(|(old, new)| self.moved(&mut steps, (old, graph.ty(old).dtype()), new, &flat));
        let mut patch = steps.patch;
        for (&old, new) in node.outputs.iter().zip([y, running_mean, running_variance, mean, variance]) {
            patch.replace(old, new);
        }
        Some(patch)
    }
}

/// A batch in f32: its elements without the mean, the mean and the variance, both with 1 along the other axes.
struct Batch {
    apart: PatchRef,
    mean: PatchRef,
    variance: PatchRef,
}

impl Batch {
    fn of(steps: &mut Steps<'_>, x: ValueId, shape: &[DimExpr]) -> Batch {
        let wide = steps.widened(x);
        let axes: Vec<i64> = (0..shape.len() as i64).filter(|&a| a != 1).collect();
        let mean_of = ReduceMean { axes, keepdims: true, noop_with_empty_axes: false };
        let mean = steps.add("mean", mean_of.clone(), &[wide]);
        let apart = steps.add("apart", Sub {}, &[wide, mean]);
        let squares = steps.add("squares", Square {}, &[apart]);
        Batch { apart, mean, variance: steps.add("variance", mean_of, &[squares]) }
    }
}

impl BatchNormTraining {
    /// (x − μ)·γ/√(σ² + ε) + β.
    fn normalized(
        &self,
        steps: &mut Steps<'_>,
        batch: &Batch,
        scales: [ValueId; 2],
        shape: &[DimExpr],
    ) -> PatchRef {
        let raised = steps.add("raised", Affine { mul: 1.0, add: self.epsilon }, &[batch.variance]);
        let root = steps.add("root", Rsqrt {}, &[raised]);
        let [gamma, beta] = scales.map(|v| {
            let wide = steps.widened(v);
            steps.column(wide, shape)
        });
        let scale = steps.add("scale", Mul {}, &[root, gamma]);
        let scaled = steps.add("scaled", Mul {}, &[batch.apart, scale]);
        steps.result(&[scaled, beta])
    }

    /// momentum·old + (1 − momentum)·new in that dtype.
    fn moved(
        &self,
        steps: &mut Steps<'_>,
        (old, dtype): (ValueId, DType),
        new: PatchRef,
        flat: &Reshape,
    ) -> PatchRef {
        let wide = steps.widened(old);
        let old = steps.add("old", flat.clone(), &[wide]);
        let kept = steps.add("kept", Affine { mul: self.momentum, add: 0.0 }, &[old]);
        let part = steps.add("part", Affine { mul: 1.0 - self.momentum, add: 0.0 }, &[new]);
        let moved = steps.add("moved", Add {}, &[kept, part]);
        if dtype == DType::F32 { moved } else { steps.add("narrow", Cast { to: dtype }, &[moved]) }
    }
}

/// σ²·n/(n − 1), of n = 1 σ².
fn unbiased(steps: &mut Steps<'_>, x: ValueId, shape: &[DimExpr], variance: PatchRef) -> PatchRef {
    let counted: Vec<usize> = (0..shape.len()).filter(|&a| a != 1).collect();
    let known: f64 = counted.iter().filter_map(|&a| shape[a].as_const()).map(|n| n as f64).product();
    let symbolic = counted.into_iter().filter(|&a| shape[a].as_const().is_none());
    let Some(count) = product_of_extents(steps, x, symbolic) else {
        let factor = (known / (known - 1.0).max(1.0)) as f32;
        return steps.add("unbiased", Affine { mul: factor, add: 0.0 }, &[variance]);
    };
    let n = steps.add("n", Affine { mul: known as f32, add: 0.0 }, &[count]);
    let factor = over_one_less(steps, n);
    steps.add("unbiased", Mul {}, &[variance, factor])
}

/// n/(max(0, n − 2) + 1).
fn over_one_less(steps: &mut Steps<'_>, n: PatchRef) -> PatchRef {
    let more = steps.add("more", Affine { mul: 1.0, add: -2.0 }, &[n]);
    let more = steps.add("more", Relu {}, &[more]);
    let divisor = steps.add("divisor", Affine { mul: 1.0, add: 1.0 }, &[more]);
    steps.add("factor", Div {}, &[n, divisor])
}

/// The product of extents as an f32; none of none.
fn product_of_extents(
    steps: &mut Steps<'_>,
    x: ValueId,
    axes: impl Iterator<Item = usize>,
) -> Option<PatchRef> {
    axes.fold(None, |count, axis| {
        let extent = steps.add("extent", Extent { axis: axis as i64 }, &[PatchRef::Old(x)]);
        let extent = steps.add("extent", Cast { to: DType::F32 }, &[extent]);
        Some(count.map_or(extent, |count| steps.add("count", Mul {}, &[count, extent])))
    })
}

fn case(d: DType, shape: &[u64], op: &BatchNormTraining) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {op:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        all(g, x, [d, DType::F32, DType::F32], shape[1], op);
    })
}

/// Every result is an output.
fn all(g: &GraphBuilder, x: Value, [d, m, v]: [DType; 3], channels: u64, op: &BatchNormTraining) {
    let operands = [("gamma", d), ("beta", d), ("running_mean", m), ("running_variance", v)];
    let operands = operands.map(|(name, d)| g.param(name, tensor(d, [channels])));
    let [gamma, beta, mean, variance] = operands.map(Some);
    for (i, y) in g.apply_all(op.clone(), &[Some(x), gamma, beta, mean, variance]).into_iter().enumerate() {
        g.output(&format!("y{i}"), y);
    }
}

/// Over states that runs write. Elements are whole, 16 a channel, so that statistics are exact, and so are states that
/// keep half of themselves: later runs read them to the bit.
fn written(op: &BatchNormTraining) -> Sample {
    let elements = (0..48).map(|i| f64::from(i * 7 % 11 - 4)).collect();
    Sample::graph(&format!("states of {op:?}"), |g| {
        let x = g.input("x", tensor(DType::F32, [4u64, 3, 4]));
        let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, tensor(DType::F32, [3u64])));
        let [mean, variance] = ["mean", "variance"].map(|name| g.state(name, tensor(DType::F32, [3u64])));
        g.output("y", g.batch_norm_training(x, gamma, beta, mean, variance, op.clone()));
        if op.momentum == 0.5 {
            g.output("mean before", g.state_read(mean));
            g.output("variance before", g.state_read(variance));
        }
    })
    .fill("x", Fill::Floats(elements))
    .runs(3)
}

impl GraphBuilder {
    /// Channels brought to mean 0 and deviation 1 of the batch (ONNX BatchNormalization of training): x\[B, C, …\], γ
    /// and β of \[C\] → x's type. The running mean and variance are two states of \[C\], of any float dtype; they
    /// become momentum·old + (1 − momentum)·new, written after everything else. [`BatchNormTraining`] says the formula.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::batch_norm_training::BatchNormTraining;
    /// # use pumice_types::Tensor;
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma, beta) = (g.input("x", f32([8, 4, 6, 6])), g.param("gamma", f32([4])), g.param("beta", f32([4])));
    /// // Running variances begin as 1 elsewhere; what is not said begins as 0.
    /// let ones = g.constant(Tensor::new(&[1f32; 4], &[4])?);
    /// let (mean, variance) = (g.state("mean", f32([4])), g.state_from("variance", ones));
    /// g.output("y", g.batch_norm_training(x, gamma, beta, mean, variance, BatchNormTraining::default()));
    /// # assert!(g.build().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn batch_norm_training(
        &self,
        x: Value,
        gamma: Value,
        beta: Value,
        running_mean: Value,
        running_variance: Value,
        op: BatchNormTraining,
    ) -> Value {
        let states = [running_mean, running_variance];
        let [mean, variance] = states.map(|s| self.state_read(s));
        let operands = [x, gamma, beta, mean, variance].map(Some);
        let results = self.apply_all(op, &operands);
        for (state, &next) in states.into_iter().zip(&results[1..]) {
            self.state_write(state, next);
        }
        results[0]
    }
}
