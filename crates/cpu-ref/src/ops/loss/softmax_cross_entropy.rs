//! `SoftmaxCrossEntropy`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::around;
use crate::tolerance::Tolerance;
use pumice_ir::ops::{LossReduction, SoftmaxCrossEntropy};
use pumice_types::DType;

impl Eval for SoftmaxCrossEntropy {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let cases = Cases::of(self, cx);
        let read = cases.all.iter().enumerate();
        let outside = read.filter(|(_, case)| case.class.is_none() && !case.ignored);
        outside.for_each(|(i, _)| cx.raise(Status::IndexOutOfRange(i as u64)));
        let x = cx.arg(0);
        let terms: Vec<f64> = cases.all.iter().map(|case| cases.term(case, |v| v.logp)).collect();
        let loss = cases.reduced(terms.iter().map(|t| -t).collect());
        let shape = if self.reduction == LossReduction::None { &cx.arg(1).shape[..] } else { &[] };
        let weight = if self.reduction.is_mean() { cases.applied() } else { 1.0 };
        let mut results =
            vec![Array::floats(x.dtype, shape, loss), Array::floats(DType::F32, &[], vec![weight])];
        if self.scores_grad {
            let slopes = cases.by_score(|case, j, v| v.p * cases.whole(case) - cases.share(case, j));
            results.push(Array::floats(DType::F32, &x.shape, slopes));
        }
        results
    }

    /// As log-softmax's over the classes, summed over the cases.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let (cases, classes) = (cx.arg(1).len() as u64, cx.arg(0).shape[1]);
        match cx.result {
            0 => Tolerance::sum(cx.arg(0).dtype, cases.max(classes).max(1)),
            1 => Tolerance::sum(DType::F32, cases.max(1)),
            _ => Tolerance::sum(DType::F32, classes.max(1)),
        }
    }

    /// Of a logarithm t + |ln Σ| + 1, t = m − x, as log-softmax has it; of its exponential p times that, since an
    /// absolute error becomes a relative one.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let cases = Cases::of(self, cx);
        match cx.result {
            0 => cases.reduced(cases.all.iter().map(|case| cases.term(case, |v| v.size)).collect()),
            1 => vec![cases.applied().max(1.0)],
            _ => {
                cases.by_score(|case, j, v| v.p * v.size.min(1e3) * cases.whole(case) + cases.share(case, j))
            }
        }
    }
}

/// What is known of one score.
struct Score {
    /// ln p.
    logp: f64,
    p: f64,
    /// By what errors of the logarithm scale.
    size: f64,
}

/// A target, and where its scores begin.
struct Case {
    class: Option<usize>,
    ignored: bool,
    first: usize,
}

/// All targets with what they read.
struct Cases<'a> {
    op: &'a SoftmaxCrossEntropy,
    x: &'a [f64],
    /// Classes, and how far apart the scores of one case are.
    classes: usize,
    step: usize,
    weights: Option<&'a [f64]>,
    all: Vec<Case>,
}

impl<'a> Cases<'a> {
    fn of(op: &'a SoftmaxCrossEntropy, cx: &EvalCx<'a>) -> Cases<'a> {
        let (x, targets) = (cx.arg(0), cx.arg(1).as_ints());
        let (_, classes, step) = around(&x.shape, 1);
        let case = |(i, &t): (usize, &i64)| Case {
            class: usize::try_from(t).ok().filter(|t| *t < classes),
            ignored: op.ignore_index == Some(t),
            first: i / step * classes * step + i % step,
        };
        let all = targets.iter().enumerate().map(case).collect();
        let weights = cx.opt(2).map(|w| w.as_floats());
        Cases { op, x: x.as_floats(), classes, step, weights, all }
    }

    fn smoothing(&self) -> f64 {
        f64::from(self.op.label_smoothing)
    }

    fn weight(&self, class: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[class])
    }

    /// The weight that counts for a case.
    fn weight_of(&self, case: &Case) -> f64 {
        match (case.ignored, case.class) {
            (true, _) => 0.0,
            (_, Some(class)) => self.weight(class),
            (_, None) => {
                if self.weights.is_some() {
                    0.0
                } else {
                    1.0
                }
            }
        }
    }

    /// All that a mean divides by.
    fn applied(&self) -> f64 {
        self.all.iter().fold(0.0, |sum, case| sum + self.weight_of(case))
    }

    /// The scores of a case, one for each class.
    fn scores(&self, case: &Case) -> Vec<Score> {
        let x = |j: usize| self.x[case.first + j * self.step];
        let max = (0..self.classes).map(x).fold(f64::NEG_INFINITY, f64::max);
        let log = (0..self.classes).map(|j| (x(j) - max).exp()).sum::<f64>().ln();
        let score = |j: usize| {
            let logp = x(j) - max - log;
            Score { logp, p: logp.exp(), size: (max - x(j)).abs() + log.abs() + 1.0 }
        };
        (0..self.classes).map(score).collect()
    }

    /// The share of class j in a term: what its logarithm is multiplied with.
    fn share(&self, case: &Case, j: usize) -> f64 {
        let own = if case.class == Some(j) { (1.0 - self.smoothing()) * self.weight_of(case) } else { 0.0 };
        let alike = self.smoothing() / self.classes as f64 * self.weight(j);
        if case.ignored { 0.0 } else { own + alike }
    }

    /// The sum of all shares.
    fn whole(&self, case: &Case) -> f64 {
        (0..self.classes).fold(0.0, |sum, j| sum + self.share(case, j))
    }

    /// Σ of shares times what is said of a score: what has no share is not read.
    fn term(&self, case: &Case, of: impl Fn(&Score) -> f64) -> f64 {
        if case.ignored {
            return 0.0;
        }
        let scores = self.scores(case);
        let read = |j: &usize| self.smoothing() > 0.0 || case.class == Some(*j);
        let parts = (0..self.classes).filter(read).map(|j| self.share(case, j) * of(&scores[j]));
        parts.fold(0.0, |sum, part| sum + part)
    }

    /// Terms as the op reduces them.
    fn reduced(&self, terms: Vec<f64>) -> Vec<f64> {
        let sum = || terms.iter().fold(0.0, |sum, t| sum + t);
        match self.op.reduction {
            LossReduction::None => terms,
            LossReduction::Sum => vec![sum()],
            LossReduction::MeanOrZero if self.applied() == 0.0 => vec![0.0],
            LossReduction::Mean | LossReduction::MeanOrZero => vec![sum() / self.applied()],
        }
    }

    /// A number for each score; 0 where the case is ignored.
    fn by_score(&self, of: impl Fn(&Case, usize, &Score) -> f64) -> Vec<f64> {
        let mut numbers = vec![0.0; self.x.len()];
        for case in self.all.iter().filter(|case| !case.ignored) {
            for (j, score) in self.scores(case).iter().enumerate() {
                numbers[case.first + j * self.step] = of(case, j, score);
            }
        }
        numbers
    }
}
