//! `GroupNorm`, and the groups that `InstanceNorm` shares.

use super::layer_norm::{Stats, inverse};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::count;
use crate::tolerance::Tolerance;
use pumice_ir::ops::GroupNorm;

impl Eval for GroupNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        Groups::of(cx, self.num_groups, self.epsilon).normalized()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Groups::of(cx, self.num_groups, self.epsilon).tolerance()
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        Groups::of(cx, self.num_groups, self.epsilon).magnitude()
    }
}

/// Groups of channels.
pub struct Groups<'a> {
    cx: &'a EvalCx<'a>,
    /// Elements of a group.
    row: usize,
    epsilon: f32,
}

impl<'a> Groups<'a> {
    /// So many groups of the channels of operand 0.
    pub fn of(cx: &'a EvalCx<'a>, groups: u64, epsilon: f32) -> Groups<'a> {
        let row = count(&cx.arg(0).shape[1..]) / (groups as usize).max(1);
        Groups { cx, row, epsilon }
    }

    /// (x − μ)/√(σ² + ε)·γ + β.
    pub fn normalized(&self) -> Vec<Array> {
        let (dtype, shape) = self.cx.out();
        let y = self.mapped(|row, x, gamma, beta| {
            (x - row.mean) * inverse(row.variance, self.epsilon) * gamma + beta
        });
        vec![Array::floats(dtype, shape, y)]
    }

    /// The class of sums over a group.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance::sum(self.cx.out().0, self.row as u64)
    }

    /// As that of a layer norm.
    pub fn magnitude(&self) -> Vec<f64> {
        self.mapped(|row, x, gamma, beta| {
            let apart = row.mean_abs + (x - row.mean).abs();
            gamma.abs() * inverse(row.variance, self.epsilon) * apart + beta.abs()
        })
    }

    /// One value for each element from its group's statistics, the element, γ and β of its channel.
    fn mapped(&self, f: impl Fn(&Stats, f64, f64, f64) -> f64) -> Vec<f64> {
        let [x, gamma, beta] = [0, 1, 2].map(|i| self.cx.arg(i).as_floats());
        let shape = &self.cx.arg(0).shape;
        let pixels = count(&shape[2..]).max(1);
        let mut y = Vec::with_capacity(x.len());
        for row in x.chunks(self.row.max(1)) {
            let stats = Stats::of(row.len(), row.iter().copied());
            for &v in row {
                let c = y.len() / pixels % gamma.len();
                y.push(f(&stats, v, gamma[c], beta[c]));
            }
        }
        y
    }
}
