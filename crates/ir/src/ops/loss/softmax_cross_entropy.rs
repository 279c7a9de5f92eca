//! `SoftmaxCrossEntropy`: the cross-entropy of scores and classes given by index.

use super::nll_loss::{Classes, classes_by_index};
use super::reduced::LossReduction;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::composed::composed;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::steering_samples::steering_samples;
use crate::ops::{Grad, GradCx, Grads, IndexRange, NoGrad, NodeCx, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// −(1 − s)·w\[t\]·logp\[n, t, …\] − s/C·Σ_c w\[c\]·logp\[n, c, …\] for each target t, with logp =
    /// logsoftmax(scores) over axis 1, s the label smoothing, w the weights of the classes, and its reduction (ONNX
    /// SoftmaxCrossEntropyLoss, PyTorch `cross_entropy`): scores \[N, C, d…\], targets of i32 or i64 \[N, d…\], w \[C\]
    /// or 1 each → the loss in the scores' dtype, \[N, d…\] where terms stay, else of rank 0; its weight, an f32 of
    /// rank 0: Σ w\[t\] of the targets that are not ignored, by which a mean divides, else 1; where it is asked for,
    /// the gradient of each term by its scores in f32, (1 − s)·w\[t\]·(softmax − \[c = t\]) + s/C·(Σw·softmax −
    /// w\[c\]).
    ///
    /// A target that is no class, negative ones included, reports INDEX_OUT_OF_RANGE unless it is `ignore_index`; its
    /// term has no first part. A mean of weight 0 is NaN. NaN propagates from what is read; terms that are ignored read
    /// nothing. 16-bit floats are computed in f32 and rounded once.
    pub struct SoftmaxCrossEntropy {
        /// What becomes of the terms, one for each target.
        reduction: LossReduction = LossReduction::Mean,
        /// The target of terms that are 0 and count for nothing; it may be no class.
        ignore_index: Option<i64> = None,
        /// The share s of a term that all classes have alike.
        label_smoothing: f32 = 0.0 => SHARE,
        /// Whether the gradient by the scores is a third result.
        scores_grad: bool = false,
    }
}

impl Default for SoftmaxCrossEntropy {
    fn default() -> SoftmaxCrossEntropy {
        SoftmaxCrossEntropy {
            reduction: LossReduction::Mean,
            ignore_index: None,
            label_smoothing: 0.0,
            scores_grad: false,
        }
    }
}

impl OpDef for SoftmaxCrossEntropy {
    const OPERANDS: &'static [&'static str] = &["scores", "target", "class_weight?"];
    const STEERS: &'static [&'static str] = &["target"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    /// The weight is that of targets alone: of a mean the sum of theirs, else 1.
    fn result_moves_with(&self, result: usize, operand: usize) -> bool {
        result != 1 || operand == 2 && self.reduction.is_mean()
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        classes_by_index(cx)?;
        let scores = cx.ty(0)?;
        let terms = match self.reduction {
            LossReduction::None => of_cases(&scores.shape),
            _ => Vec::new(),
        };
        let loss = ValueType::new(scores.dtype(), terms);
        let mut types: Types = smallvec::smallvec![loss, ValueType::new(DType::F32, [])];
        if self.scores_grad {
            types.push(ValueType::new(DType::F32, scores.shape.clone()));
        }
        Ok(types)
    }

    fn index_range(&self, cx: &NodeCx<'_>, operand: usize) -> Option<IndexRange> {
        let classes = cx.graph.ty(cx.operand(0)?).shape.get(1)?.as_extent().filter(|_| operand == 1)?;
        Some(IndexRange { within: 0..i64::try_from(classes).ok()?, besides: self.ignore_index })
    }

    fn samples() -> Vec<Sample> {
        let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
        let mut samples = vec![
            case((f, i64), &[5, 7], false),
            case((f, i32), &[5, 7], true),
            case((f, i32), &[2, 3, 4, 5], true),
            case((f, i64), &[2, 3, 2, 3, 2], false),
            case((f, i32), &[1, 1], true),
            case((f, i32), &[0, 4], true),
            case((f, i64), &[3, 5000], false),
            case((f, i32), &[700, 3], true),
            case((DType::F16, i32), &[9, 33], true),
            case((DType::BF16, i64), &[9, 33], false),
        ];
        let outside = case((f, i32), &[6, 4], true)
            .fill("target", Fill::Ints(vec![0, -100, 3, -1, 4, i64::from(i32::MIN)]));
        samples.push(outside.expect_status());
        let far = case((f, i64), &[4, 4], false).fill("target", Fill::Ints(vec![0, 1 << 32, 3, i64::MIN]));
        samples.push(far.expect_status());
        samples.extend([0, 1, 9].map(symbolic));
        let one = |g: &GraphBuilder, target: Value| {
            let op = SoftmaxCrossEntropy { scores_grad: true, ..SoftmaxCrossEntropy::default() };
            let scores = g.input("scores", tensor(f, [1, 5]));
            let results = g.apply_all(op, &[Some(scores), Some(g.reshape(target, &[1]))]);
            results.iter().enumerate().for_each(|(i, &y)| g.output(&format!("y{i}"), y));
        };
        samples.extend(steering_samples("a class", 5, |i| !(0..5).contains(&i), one));
        samples
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        composed(graph, id, |g, operands| match operands {
            [Some(scores), Some(target), class_weight @ ..] => {
                self.composed(g, *scores, (*target, class_weight.first().copied().flatten()))
            }
            _ => Vec::new(),
        })
    }
}

/// The extents of the targets of scores of that shape.
fn of_cases(scores: &[DimExpr]) -> Vec<DimExpr> {
    scores.iter().enumerate().filter(|&(axis, _)| axis != 1).map(|(_, n)| n.clone()).collect()
}

impl SoftmaxCrossEntropy {
    /// All results by log-softmax and what is picked from it.
    fn composed(
        &self,
        g: &GraphBuilder,
        scores: Value,
        (target, class_weight): (Value, Option<Value>),
    ) -> Vec<Value> {
        let Some(types) = [scores, target].map(|v| g.type_of(v)).into_iter().collect::<Option<Vec<_>>>()
        else {
            return Vec::new();
        };
        let cases = of_cases(&types[0].shape);
        let target = if *types[1].shape == *cases { target } else { g.reshape_to(target, cases) };
        let g = g.composition("softmax_cross_entropy");
        let logp = g.log_softmax(g.widened(scores, types[0].dtype()), 1);
        let classes = g.classes((target, class_weight), &types, self.ignore_index);
        let picked = g.picked(logp, &classes);
        let shares = self.shares(&g, &classes, (scores, &types[0].shape));
        let slope = self.scores_grad.then(|| slope(&g, logp, (picked, &classes), &shares, &types[0].shape));
        let weighted = classes.of_class.map_or(picked, |w| g.mul(w, picked));
        let terms = shares.mixed(&g, weighted, logp);
        let (loss, weight) = g.likelihood_loss(terms, &classes, &types, self.reduction);
        [loss, weight].into_iter().chain(slope).collect()
    }

    /// What each class has of a term.
    fn shares(&self, g: &Composition, classes: &Classes, (scores, shape): (Value, &[DimExpr])) -> Shares {
        let (s, one) = (f64::from(self.label_smoothing), DimExpr::constant(1));
        let mut row = vec![one; shape.len()];
        row[1] = shape[1].clone();
        let spread = (s > 0.0).then(|| {
            let each = g.div(g.constant_scalar(DType::F32, s), g.count_of(scores, shape, &[1]));
            match classes.weights {
                Some(w) => Spread {
                    each: g.reshape_to(g.mul(w, each), row.clone()),
                    whole: g.mul(g.reduce_sum(w, &[0], false), each),
                },
                None => {
                    Spread { each: g.expand_to(each, row.clone()), whole: g.constant_scalar(DType::F32, s) }
                }
            }
        });
        let count = match shape[1].as_const() {
            Some(n) => g.constant_scalar(DType::I32, n as f64),
            None => g.cast(g.extent(scores, 1), DType::I32),
        };
        Shares { own: 1.0 - self.label_smoothing, spread, row, count }
    }
}

/// The target's own share of a term, and what all classes have alike.
struct Shares {
    own: f32,
    spread: Option<Spread>,
    /// The shape of a number for each class beside scores.
    row: Vec<DimExpr>,
    /// How many classes there are, an i32.
    count: Value,
}

/// s/C·w of each class, and its sum.
struct Spread {
    each: Value,
    whole: Value,
}

impl Shares {
    /// The terms before they are negated, from the target's logarithms times its weight.
    fn mixed(&self, g: &Composition, weighted: Value, logp: Value) -> Value {
        let Some(spread) = &self.spread else { return weighted };
        let alike = g.reduce_sum(g.mul(logp, spread.each), &[1], false);
        g.add(g.affine(weighted, self.own, 0.0), alike)
    }
}

/// softmax·Σ_c T − T with T what each class has of a term; the report of targets that are no class comes with it.
fn slope(
    g: &Composition,
    logp: Value,
    (picked, classes): (Value, &Classes),
    shares: &Shares,
    shape: &[DimExpr],
) -> Value {
    let column = |v: Value| g.unsqueeze(v, &[1]);
    let target = column(g.after(classes.index(g), &[picked]));
    let numbers = g.reshape_to(g.range(0u64, shape[1].clone(), 1, DType::I32), shares.row.clone());
    let zero = g.constant_scalar(DType::F32, 0.0);
    let own = match classes.of_class {
        Some(w) => g.affine(column(w), shares.own, 0.0),
        None => {
            let is_class = g.less(target, shares.count);
            g.select(is_class, g.constant_scalar(DType::F32, shares.own.into()), zero)
        }
    };
    let of_target = g.select(g.equal(target, numbers), own, zero);
    let (whole, each) = match &shares.spread {
        Some(spread) => (g.add(own, spread.whole), g.add(of_target, spread.each)),
        None => (own, of_target),
    };
    let slope = g.sub(g.mul(g.exp(logp), whole), each);
    classes.ignored.map_or(slope, |ignored| g.select(column(ignored), zero, slope))
}

/// By the scores: what the node gives of it, times what the loss moves by; by the weights: as composed.
fn rule(op: &SoftmaxCrossEntropy, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    if cx.wants(2) || cx.upstream(2).is_some() {
        return Err(NoGrad::Composed);
    }
    let Some(dy) = cx.upstream(0) else { return Ok(Grads::new()) };
    let slope = cx.ask(SoftmaxCrossEntropy { scores_grad: true, ..op.clone() })?[2];
    let (g, dy) = (cx.g, wide(cx.g, dy));
    let factor = match op.reduction {
        LossReduction::None => g.unsqueeze(dy, &[1]),
        LossReduction::Sum => dy,
        LossReduction::Mean => g.div(dy, cx.y(1)),
        LossReduction::MeanOrZero => {
            let [zero, one] = [0.0, 1.0].map(|v| g.constant_scalar(DType::F32, v));
            let empty = g.equal(cx.y(1), zero);
            g.select(empty, zero, g.div(dy, g.select(empty, one, cx.y(1))))
        }
    };
    Ok(vec![Some(narrowed(cx, g.mul(slope, factor), cx.x(0)))])
}

/// All reductions, with and without what is ignored, smoothed, the gradient.
fn results(g: &GraphBuilder, scores: Value, target: Value, weights: Option<Value>) {
    let all = [LossReduction::None, LossReduction::Sum, LossReduction::Mean, LossReduction::MeanOrZero];
    for (i, ignore_index) in [None, Some(-100), Some(1)].into_iter().enumerate() {
        for (k, reduction) in all.into_iter().enumerate() {
            let label_smoothing = [0.0, 0.25][(i + k) % 2];
            let op = SoftmaxCrossEntropy { reduction, ignore_index, label_smoothing, scores_grad: i != k };
            let results = g.apply_all(op, &[Some(scores), Some(target), weights]);
            for (name, value) in ["loss", "weight", "slope"].iter().zip(results) {
                g.output(&format!("{name} {reduction:?} {ignore_index:?}"), value);
            }
        }
    }
}

fn case((dtype, index): (DType, DType), shape: &[u64], weighted: bool) -> Sample {
    let sample = Sample::graph(&format!("{dtype} {shape:?} by {index}, weighted {weighted}"), |g| {
        let cases = shape.iter().enumerate().filter(|&(axis, _)| axis != 1).map(|(_, &n)| n);
        let scores = g.input("scores", tensor(dtype, shape.iter().copied()));
        let target = g.input("target", tensor(index, cases));
        let weights = weighted.then(|| g.input("weights", tensor(dtype, [shape[1]])));
        results(g, scores, target, weights);
    });
    sample.fill("target", Fill::Range(0, shape[1] as i64)).fill("weights", Fill::Uniform(0.25, 2.0))
}

fn symbolic(n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {n} of 9"), |g| {
        let scores = g.input("scores", tensor(DType::F32, [sym("n", 0..=9), sym("c", 2..=5)]));
        let target = g.input("target", tensor(DType::I64, [sym("n", 0..=9)]));
        let weights = g.input("weights", tensor(DType::F32, [sym("c", 2..=5)]));
        results(g, scores, target, Some(weights));
    });
    let sample = sample.fill("target", Fill::Range(0, 3)).fill("weights", Fill::Uniform(0.25, 2.0));
    sample.bind("n", n).bind("c", 3)
}

impl GraphBuilder {
    /// The cross-entropy of scores and classes given by index, and its weight ([`SoftmaxCrossEntropy`]): scores
    /// \[N, C, d…\], targets of i32 or i64 \[N, d…\], weights of the classes \[C\] or 1 each → the loss, \[N, d…\]
    /// where terms stay, else of rank 0, and what a mean was divided by, an f32 of rank 0, else 1. For the logarithms
    /// themselves take `g.log_softmax(scores, 1)` beside it: one step computes both.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32, sym};
    /// # use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
    /// let g = GraphBuilder::new("g");
    /// // The next token of each place; places that are filled up are ignored.
    /// let scores = g.input("scores", f32([8, 1000, 32]));
    /// let next = g.input("next", i32([8, 32]));
    /// let op = SoftmaxCrossEntropy { ignore_index: Some(-100), ..Default::default() };
    /// let (loss, tokens) = g.softmax_cross_entropy(scores, next, None, op);
    /// g.output("loss", loss);
    /// g.output("tokens", tokens);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn softmax_cross_entropy(
        &self,
        scores: Value,
        target: Value,
        class_weight: Option<Value>,
        op: SoftmaxCrossEntropy,
    ) -> (Value, Value) {
        let results = self.apply_all(op, &[Some(scores), Some(target), class_weight]);
        (results[0], *results.get(1).unwrap_or(&results[0]))
    }
}
