//! `Dropout`: elements dropped at random in training, the identity in inference.

use crate::builder::scalar_tensor;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::composed::composed;
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::random_numbers::RandomKind;
use crate::ops::source::{RandomSource, expect_source};
use crate::ops::{Constant, Expand, Grad, GradCx, Grads, NoGrad, Op, RandomNumbers};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;
use std::sync::Arc;

crate::op! {
    /// In inference (y, mask) = (x, all true); in training mask = u ≥ `ratio`, y = x / (1 − `ratio`) where the mask is
    /// true, else 0 (ONNX Dropout). u is uniform in \[0, 1), of [`RandomNumbers`] in x's
    /// shape. A ratio of 1 gives zeros.
    pub struct Dropout {
        /// Share of elements that training drops.
        ratio: f32 = 0.5 => SHARE,
        /// Whether elements are dropped; then there is a source.
        training: bool = false,
        /// The stream of its numbers.
        stream: u64 = 0 => WORD,
    }
}

impl OpDef for Dropout {
    const OPERANDS: &'static [&'static str] = &["x", "seed_low?", "seed_high?", "step?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        let x = cx.ty(0)?;
        if self.training {
            expect_source(cx, 1, &x.shape)?;
        } else if (1..4).any(|k| cx.opt(k).is_some()) {
            return Err(OpError::Invalid("it draws no numbers in inference, but has a source".into()));
        }
        Ok(smallvec::smallvec![x.clone(), ValueType::new(DType::Bool, x.shape.clone())])
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], ratio: f32| {
            Sample::graph(&format!("{d} {shape:?} ratio {ratio}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                let (y, mask) = g.dropout(x, ratio);
                g.output("y", y);
                g.output("mask", mask);
            })
            .fill("x", Fill::Special)
        };
        let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, &[3, 37], 0.5)).collect();
        let f = DType::F32;
        samples.extend([case(f, &[], 0.5), case(f, &[0, 4], 0.5), case(f, &[65], 0.0), case(f, &[65], 1.0)]);
        samples.extend(FLOATS.iter().map(|&d| training(d, &[3, 37], 0.25)));
        samples.extend([training(f, &[], 0.5), training(f, &[0, 4], 0.5), training(f, &[2, 3, 64], 0.1)]);
        samples.extend([training(f, &[65], 0.0), training(f, &[65], 1.0)]);
        samples.push(Sample::graph("training by rows, symbolic", |g| {
            let x = g.input("x", tensor(f, [3.into(), sym("n", 0..=40)]));
            let steps = g.input("steps", tensor(DType::U32, [3]));
            let RandomSource { seed_low, seed_high, .. } = g.random_source();
            let op = Dropout { ratio: 0.5, training: true, stream: 5 };
            g.output("y", g.apply(op, &[x, seed_low, seed_high, steps]));
        }));
        samples
    }

    fn moves_bits(&self) -> bool {
        !self.training
    }

    fn stream(&self) -> Option<u64> {
        self.training.then_some(self.stream)
    }

    fn with_stream(&self, stream: u64) -> Option<Op> {
        self.training.then(|| Dropout { stream, ..self.clone() }.into())
    }

    /// Dropout of training(x) becomes that of inference, which draws nothing.
    fn for_inference(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let mut patch = Patch::new(format!("infer {}", graph.node_name(id)));
        let op = Dropout { ratio: self.ratio, training: false, stream: 0 };
        let y = patch.add(op, graph.node_name(id), &[PatchRef::Old(node.input(0)?)]);
        for (&old, number) in node.outputs.iter().zip(0..) {
            patch.replace(old, y.result(number)?);
        }
        self.training.then_some(patch)
    }

    /// In inference: y == x, mask == true everywhere.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        if self.training {
            return composed(graph, id, |g, operands| match operands {
                [Some(x), Some(low), Some(high), Some(step)] => {
                    self.dropping(&g.composition("dropout"), *x, [*low, *high, *step]).into()
                }
                _ => Vec::new(),
            });
        }
        let mut patch = expansion(graph, id);
        patch.replace(node.output(), PatchRef::Old(node.input(0)?));
        if let Some(&mask) = node.outputs.get(1) {
            let data = Arc::new(scalar_tensor(DType::Bool, 1.0));
            let mut kept = patch.add(Constant { data }, format!("{name}.kept"), &[]);
            let shape = graph.ty(mask).shape.to_vec();
            if !shape.is_empty() {
                kept = patch.add(Expand { shape }, graph.value(mask).name.clone(), &[kept]);
            }
            patch.replace(mask, kept);
        }
        Some(patch)
    }
}

impl Dropout {
    /// What kept elements are multiplied by.
    fn scale(&self) -> f32 {
        if self.ratio < 1.0 { 1.0 / (1.0 - self.ratio) } else { 1.0 }
    }

    /// x as training drops it, and u ≥ ratio.
    pub(crate) fn dropping(&self, g: &GraphBuilder, x: Value, source: [Value; 3]) -> [Value; 2] {
        let Some(ty) = g.type_of(x) else { return [x, x] };
        let draw = RandomNumbers { shape: ty.shape.to_vec(), stream: self.stream, kind: RandomKind::Uniform };
        let u = g.named("numbers").apply(draw, &source);
        let ratio = g.constant_scalar(DType::F32, self.ratio.into());
        let mask = g.named("mask").greater_or_equal(u, ratio);
        let scaled = g.named("scaled").affine(x, self.scale(), 0.0);
        [g.named("kept").select(mask, scaled, g.constant_scalar(ty.dtype(), 0.0)), mask]
    }
}

/// Two runs, which drop unlike elements.
fn training(d: DType, shape: &[u64], ratio: f32) -> Sample {
    Sample::graph(&format!("training {d} {shape:?} ratio {ratio}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let (y, mask) = g.dropout_training(x, ratio);
        g.output("y", y);
        g.output("mask", mask);
    })
    .fill("x", Fill::Special)
    .scalar("seed_high", 12.0)
    .runs(2)
}

/// dy by the same mask, which is drawn again when dy is there: none is kept.
fn rule(op: &Dropout, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, dy) = (cx.g, cx.dy());
    if !op.training {
        return Ok(vec![Some(dy)]);
    }
    let step = g.barrier(&[cx.x(3)], Some(dy))[0];
    Ok(vec![Some(g.apply(op.clone(), &[dy, cx.x(1), cx.x(2), step]))])
}

impl GraphBuilder {
    /// The identity, and a mask that is all true: x\[…\] → (x, bool\[…\]).
    #[track_caller]
    pub fn dropout(&self, x: Value, ratio: f32) -> (Value, Value) {
        let results = self.apply_all(Dropout { ratio, training: false, stream: 0 }, &[Some(x)]);
        (results[0], *results.last().unwrap_or(&results[0]))
    }

    /// Elements dropped at random, those that stay divided by 1 − `ratio`, and which stay: x\[…\] → (x, bool\[…\]).
    /// The numbers are of the graph's source ([`random_source`](crate::GraphBuilder::random_source)), so that every
    /// run drops others; for another one apply [`Dropout`] itself.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let (y, mask) = g.dropout_training(g.input("x", f32([8, 64])), 0.1);
    /// g.output("y", y);
    /// g.output("mask", mask);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn dropout_training(&self, x: Value, ratio: f32) -> (Value, Value) {
        let [seed_low, seed_high, step] = self.random_source().operands();
        let inputs = [x, seed_low, seed_high, step].map(Some);
        let op = |stream| Dropout { ratio, training: true, stream }.into();
        let results = self.apply_streamed("dropout", None, op, &inputs);
        (results[0], *results.last().unwrap_or(&results[0]))
    }
}
