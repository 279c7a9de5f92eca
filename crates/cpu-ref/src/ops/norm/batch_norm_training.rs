//! `BatchNormTraining`.

use super::layer_norm::{Stats, inverse};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::around;
use crate::tolerance::Tolerance;
use pumice_ir::ops::BatchNormTraining;

impl Eval for BatchNormTraining {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let batch = Batch::of(self, cx);
        let results = [
            batch.elements(|s, x, gamma, beta| {
                (x - s.mean) * inverse(s.variance, self.epsilon) * gamma + beta
            }),
            batch.running(3, |s| s.mean),
            batch.running(4, |s| batch.moved(s)),
            batch.channels.iter().map(|s| s.mean).collect(),
            batch.channels.iter().map(|s| s.variance).collect(),
        ];
        let types = cx.outputs.iter();
        results.into_iter().zip(types).map(|(v, (dtype, shape))| Array::floats(*dtype, shape, v)).collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, Batch::of(self, cx).n as u64)
    }

    /// Of elements as that of a layer norm; of the variance its own sum, whose terms are differences to a mean that is
    /// itself off by a share of mean|x|, which moves them by second order; of running values both terms.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let batch = Batch::of(self, cx);
        let spread = |s: &Stats| s.variance + (s.mean_abs * Tolerance::of_sum(batch.n as u64)).powi(2);
        match cx.result {
            0 => batch.elements(|s, x, gamma, beta| {
                let apart = s.mean_abs + (x - s.mean).abs();
                gamma.abs() * inverse(s.variance, self.epsilon) * apart + beta.abs()
            }),
            1 => batch.sizes(3, |s| s.mean_abs),
            2 => batch.sizes(4, |s| batch.factor() * spread(s)),
            3 => batch.channels.iter().map(|s| s.mean_abs).collect(),
            _ => batch.channels.iter().map(spread).collect(),
        }
    }
}

/// A batch by channels.
struct Batch<'a> {
    op: &'a BatchNormTraining,
    cx: &'a EvalCx<'a>,
    /// Elements of a channel.
    n: usize,
    channels: Vec<Stats>,
}

impl<'a> Batch<'a> {
    fn of(op: &'a BatchNormTraining, cx: &'a EvalCx<'a>) -> Batch<'a> {
        let x = cx.arg(0);
        let (outer, channels, inner) = around(&x.shape, 1);
        let values = x.as_floats();
        let n = outer * inner;
        let of_channel = |c: usize| {
            let start = move |b: usize| (b * channels + c) * inner;
            Stats::of(n, (0..outer).flat_map(move |b| values[start(b)..start(b) + inner].iter().copied()))
        };
        Batch { op, cx, n, channels: (0..channels).map(of_channel).collect() }
    }

    /// One value for each element from its channel's statistics, the element, γ and β.
    fn elements(&self, f: impl Fn(&Stats, f64, f64, f64) -> f64) -> Vec<f64> {
        let [x, gamma, beta] = [0, 1, 2].map(|i| self.cx.arg(i).as_floats());
        let (_, channels, inner) = around(&self.cx.arg(0).shape, 1);
        let value = |(i, &v): (usize, &f64)| {
            let c = i / inner % channels;
            f(&self.channels[c], v, gamma[c], beta[c])
        };
        x.iter().enumerate().map(value).collect()
    }

    /// n/(n − 1) where the running variance is to be unbiased.
    fn factor(&self) -> f64 {
        let n = self.n as f64;
        if self.op.unbiased_running { n / (n - 1.0).max(1.0) } else { 1.0 }
    }

    /// What the running variance moves towards.
    fn moved(&self, s: &Stats) -> f64 {
        s.variance * self.factor()
    }

    /// momentum·old + (1 − momentum)·new.
    fn running(&self, old: usize, new: impl Fn(&Stats) -> f64) -> Vec<f64> {
        let momentum = f64::from(self.op.momentum);
        let part = f64::from(1.0 - self.op.momentum);
        let old = self.cx.arg(old).as_floats().iter();
        old.zip(&self.channels).map(|(old, s)| momentum * old + part * new(s)).collect()
    }

    /// The sum of the terms' sizes.
    fn sizes(&self, old: usize, new: impl Fn(&Stats) -> f64) -> Vec<f64> {
        let momentum = f64::from(self.op.momentum);
        let old = self.cx.arg(old).as_floats().iter();
        old.zip(&self.channels)
            .map(|(old, s)| (momentum * old).abs() + (1.0 - momentum).abs() * new(s))
            .collect()
    }
}
