//! The negative log-likelihood of classes given by index.

use super::reduced::LossReduction;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Neg, Where};
use crate::shape::ValueType;
use pumice_types::{DType, Tensor};

/// Attributes of [`GraphBuilder::nll_loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NllLoss {
    /// What becomes of the terms, one for each target.
    pub reduction: LossReduction,
    /// The target of terms that are 0 and count for nothing; it may be no class.
    pub ignore_index: Option<i64>,
}

/// Operands of a loss of classes given by index, as its rule sees them.
const OPERANDS: &[&str] = &["logp", "target", "class_weight"];

impl GraphBuilder {
    /// −w\[t\]·logp\[n, t, …\] for each target t, and its reduction (ONNX NegativeLogLikelihoodLoss, PyTorch
    /// `nll_loss`): logarithms of probabilities \[N, C, d…\], targets of i32 or i64 \[N, d…\], weights of the classes
    /// \[C\] or 1 each → the loss in the scores' dtype, \[N, d…\] where terms stay, else of rank 0, and its weight, an
    /// f32 of rank 0. A mean divides by the sum of the weights of the targets that are not ignored, which is its
    /// weight; where that is 0 it is NaN. The weight of any other reduction is 1.
    ///
    /// A target that is no class, negative ones included, reports INDEX_OUT_OF_RANGE unless it is `ignore_index`.
    /// NaN propagates from what is read; terms that are ignored read nothing. 16-bit floats are computed in f32 and
    /// rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i64};
    /// # use pumice_ir::ops::nll_loss::NllLoss;
    /// let g = GraphBuilder::new("g");
    /// let (scores, classes) = (g.input("scores", f32([4, 10])), g.input("classes", i64([4])));
    /// let op = NllLoss { ignore_index: Some(-100), ..NllLoss::default() };
    /// let (loss, _) = g.nll_loss(g.log_softmax(scores, 1), classes, None, op);
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn nll_loss(
        &self,
        logp: Value,
        target: Value,
        class_weight: Option<Value>,
        op: NllLoss,
    ) -> (Value, Value) {
        let operands: Vec<Value> = [Some(logp), Some(target), class_weight].into_iter().flatten().collect();
        let types = match self.checked_operands("nll_loss", OPERANDS, &operands, classes_by_index) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition("nll_loss");
        let classes = g.classes((target, class_weight), &types, op.ignore_index);
        let picked = g.picked(g.widened(logp, types[0].dtype()), &classes);
        let weighted = classes.of_class.map_or(picked, |w| g.mul(w, picked));
        g.likelihood_loss(weighted, &classes, &types, op.reduction)
    }
}

/// Rule of scores \[N, C, d…\], targets \[N, d…\] and weights of classes \[C\].
pub(super) fn classes_by_index(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_dtype(1, &[DType::I32, DType::I64])?;
    let scores = cx.ty(0)?;
    if scores.rank() < 2 {
        let expected = "expected at least 2: cases and classes".to_owned();
        return Err(OpError::Rank { operand: cx.name(0), rank: scores.rank(), expected });
    }
    cx.expect_rank(1, scores.rank() - 1)?;
    let cases = scores.shape.iter().enumerate().filter(|&(axis, _)| axis != 1);
    for ((axis, n), m) in cases.zip(cx.ty(1)?.shape.iter()) {
        cx.equal(n, m, &format!("axis {axis} of `{}` and of `target`", cx.name(0)))?;
    }
    weights_of_classes(cx)
}

/// A weight for each class, or none.
fn weights_of_classes(cx: &Infer<'_>) -> Result<(), OpError> {
    let Some(weights) = cx.opt(2) else { return Ok(()) };
    let scores = cx.ty(0)?;
    cx.same_dtype(0, 2)?;
    cx.expect_rank(2, 1)?;
    cx.equal(
        &scores.shape[1],
        &weights.shape[0],
        &format!("classes of `{}` and of `class_weight`", cx.name(0)),
    )
}

/// Classes given by index, as a loss reads them.
pub(super) struct Classes {
    target: Value,
    /// The class that each target reads.
    class: Value,
    counted: DType,
    /// Which targets are ignored, where some may be.
    pub(super) ignored: Option<Value>,
    /// The weights of all classes in f32, and those of the targets' ones.
    pub(super) weights: Option<Value>,
    pub(super) of_class: Option<Value>,
}

impl Classes {
    /// The class that each target reads as an i32; one that is none is none there.
    #[track_caller]
    pub(super) fn index(&self, g: &Composition) -> Value {
        if self.counted == DType::I32 {
            return self.class;
        }
        let most = g.constant_scalar(self.counted, f64::from(i32::MAX));
        g.cast(g.select(g.less(self.class, most), self.class, most), DType::I32)
    }
}

impl Composition {
    /// Targets and weights of classes; `types` are those of scores and targets.
    #[track_caller]
    pub(super) fn classes(
        &self,
        (target, class_weight): (Value, Option<Value>),
        types: &[ValueType],
        ignore_index: Option<i64>,
    ) -> Classes {
        let (dtype, counted) = (types[0].dtype(), types[1].dtype());
        let ignored = ignore_index.and_then(|i| index_constant(counted, i));
        let ignored = ignored.map(|i| self.equal(target, self.constant(i)));
        let class = self.class_read(target, counted, ignored);
        let weights = class_weight.map(|w| self.widened(w, dtype));
        let of_class = weights.map(|w| self.gather(w, class, 0));
        Classes { target, class, counted, ignored, weights, of_class }
    }

    /// The logarithm of each target's class; the index of one that is none is reported.
    #[track_caller]
    pub(super) fn picked(&self, logp: Value, classes: &Classes) -> Value {
        let column = self.unsqueeze(classes.class, &[1]);
        self.squeeze(self.gather_elements(logp, column, 1), &[1])
    }

    /// The loss whose terms are these in f32, negated; `types` are those of scores and targets.
    #[track_caller]
    pub(super) fn likelihood_loss(
        self,
        negated: Value,
        classes: &Classes,
        types: &[ValueType],
        reduction: LossReduction,
    ) -> (Value, Value) {
        let dtype = types[0].dtype();
        let Some(ignored) = classes.ignored else {
            let terms = (Neg {}.into(), &[negated][..]);
            return match classes.of_class {
                Some(applied) => self.weighted_loss(reduction, terms, applied, dtype),
                None => self.loss(reduction, terms, (classes.target, &types[1].shape), dtype),
            };
        };
        let applied = match classes.of_class {
            Some(applied) => applied,
            None => self.constant_scalar(DType::F32, 1.0),
        };
        self.ignoring(ignored, (negated, applied), reduction, dtype)
    }

    /// The loss of negated terms that leaves these out, with the weights that were applied.
    #[track_caller]
    fn ignoring(
        self,
        ignored: Value,
        (terms, applied): (Value, Value),
        reduction: LossReduction,
        dtype: DType,
    ) -> (Value, Value) {
        let zero = self.constant_scalar(DType::F32, 0.0);
        let applied = self.select(ignored, zero, applied);
        let negated = self.neg(terms);
        self.weighted_loss(reduction, (Where {}.into(), &[ignored, zero, negated]), applied, dtype)
    }

    /// The class that each target reads: 0 where it is ignored; a negative one must not count from the end, so that it
    /// becomes an index that no axis has.
    #[track_caller]
    fn class_read(&self, target: Value, counted: DType, ignored: Option<Value>) -> Value {
        let zero = self.constant_scalar(counted, 0.0);
        let outside = if counted == DType::I32 { f64::from(i32::MAX) } else { (1u64 << 62) as f64 };
        let outside = self.constant_scalar(counted, outside);
        let class = self.select(self.less(target, zero), outside, target);
        ignored.map_or(class, |ignored| self.select(ignored, zero, class))
    }
}

/// An index of rank 0 in this dtype, if the dtype has it: else no target equals it.
fn index_constant(dtype: DType, index: i64) -> Option<Tensor> {
    match dtype {
        DType::I32 => Tensor::new(&[i32::try_from(index).ok()?], &[]).ok(),
        _ => Tensor::new(&[index], &[]).ok(),
    }
}
