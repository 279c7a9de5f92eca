//! The rule of gradients of `LayerNorm` and `RmsNorm`.
//!
//! With x̂ the normalized x, r the inverse deviation, f the factor (o + γ, or 1), u = dy·f, n elements a row and dμ, dr
//! the gradients of the statistics: dx = r·(u − mean u − x̂·(Σ u·x̂ + dr·r)/n) + dμ/n, of `RmsNorm` without the mean's
//! terms; dγ = Σ dy·x̂, dβ = Σ dy over what they were stretched along. What dy gives of dx is one op, `NormGrad`, which
//! finds the statistics as well; both sums of all rows are made of those of `NormSums`.

use super::statistics::{inverse_of, rows_of};
use crate::builder::Value;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NormGrad, NormSums};
use crate::shape::product;

/// What a norm of rows is, for its rule.
pub(super) struct Rows {
    /// First normalized axis.
    pub axis: i64,
    /// ε.
    pub epsilon: f32,
    /// Added to γ.
    pub offset: f32,
    /// Whether the mean is taken off, and where statistics are results, which one is the inverse deviation.
    pub centred: bool,
    /// Whether statistics are results, the mean first where there is one, then the inverse deviation.
    pub statistics: bool,
}

/// A node of it in f32.
struct Parts<'a, 'b> {
    cx: &'a GradCx<'b>,
    rows: &'a Rows,
    /// What is normalized.
    x: Value,
    /// The normalized axes.
    axes: Vec<i64>,
}

/// Mean, if it is taken off, and inverse deviation, with extent 1 on the normalized axes.
#[derive(Clone, Copy)]
struct Statistics {
    mean: Option<Value>,
    inverse: Value,
}

impl Rows {
    /// Gradients of x, γ and β.
    pub fn gradients(&self, cx: &GradCx<'_>) -> Grads {
        let x = wide(cx.g, cx.x(0));
        let axes = rows_of(self.axis, cx.ty(x).rank()).unwrap_or_default();
        let parts = Parts { cx, rows: self, x, axes };
        let dy = cx.upstream(0).map(|dy| wide(cx.g, dy));
        let (by_dy, found) = dy.filter(|_| cx.wants(0)).map(|dy| parts.of_rows(dy)).unzip();
        let found = found.flatten();
        let dx = cx.wanted(0, || narrowed(cx, parts.of_x(by_dy, found), cx.x(0)));
        let [turned, plain] = dy.map_or([None; 2], |dy| parts.sums(dy, found));
        let of_scale = parts.of_scale(1, dy, turned, &|dy| cx.g.mul(dy, parts.normal(found)));
        vec![dx, of_scale, parts.of_scale(2, dy, plain, &|dy| dy)]
    }
}

impl Parts<'_, '_> {
    /// What dy gives of dx, and the statistics where somebody needs them and no result has them.
    fn of_rows(&self, dy: Value) -> (Value, Option<Statistics>) {
        let (cx, rows) = (self.cx, self.rows);
        let statistics = !rows.statistics && cx.wants(1);
        let axis = self.axes.first().copied().unwrap_or(rows.axis);
        let (u, factor) = self.factored(dy);
        let op = NormGrad { axis, epsilon: rows.epsilon, centred: rows.centred, statistics };
        let results = cx.g.norm_grad(self.x, u, factor, op);
        let found = |&inverse: &Value| Statistics { mean: rows.centred.then(|| results[1]), inverse };
        (results[0], results[1..].last().map(found))
    }

    /// Σ dy·x̂ and Σ dy over all rows, where γ's gradient is asked for and γ has exactly the normalized axes: of runs
    /// of rows in one step, which are then added.
    fn sums(&self, dy: Value, found: Option<Statistics>) -> [Option<Value>; 2] {
        let g = self.cx.g;
        if !self.are_of_rows(dy) {
            return [None; 2];
        }
        let shape = self.cx.shape(self.x);
        let (outer, normalized) = shape.split_at(shape.len() - self.axes.len());
        let (rows, n) = (product(outer), product(normalized));
        let seen = [rows.clone(), n].to_vec();
        let [x, dy] = [self.x, dy].map(|v| g.reshape_to(v, seen.clone()));
        let of_rows = |v: Value| g.reshape_to(v, vec![rows.clone()]);
        let Statistics { mean, inverse } = self.statistics(found);
        let op = NormSums::along(0, &rows, 0);
        let (turned, plain) = g.norm_sums(x, dy, of_rows(inverse), mean.map(of_rows), op);
        [turned, plain].map(|of_runs| Some(g.reduce_sum(of_runs, &[0], false)))
    }

    /// Whether γ's gradient is asked for and made of dy's rows alone.
    fn are_of_rows(&self, dy: Value) -> bool {
        let cx = self.cx;
        let has_rows = cx.opt(1).is_some_and(|gamma| self.has_rows(gamma));
        cx.wants(1) && has_rows && cx.shape(dy) == cx.shape(self.x)
    }

    /// The gradient of γ or β, operand `i`, if it is asked for: their sum over all rows, or, where they have other
    /// axes, what `whole` makes of dy, summed.
    fn of_scale(
        &self,
        i: usize,
        dy: Option<Value>,
        sum: Option<Value>,
        whole: &dyn Fn(Value) -> Value,
    ) -> Option<Value> {
        let cx = self.cx;
        let operand = cx.opt(i).filter(|_| cx.wants(i))?;
        // Of a loss of statistics alone.
        let Some(dy) = dy else { return Some(cx.zeros(operand)) };
        let sum = sum.filter(|_| self.has_rows(operand)).map(|sum| cx.g.reshape_to(sum, cx.shape(operand)));
        Some(narrowed(cx, sum.unwrap_or_else(|| cx.unstretched(whole(dy), operand)), operand))
    }

    /// Whether a scale has exactly the normalized axes.
    fn has_rows(&self, scale: Value) -> bool {
        let shape = self.cx.shape(self.x);
        self.cx.shape(scale)[..] == shape[shape.len() - self.axes.len()..]
    }

    /// dy, and the factor where it has exactly the normalized axes; else their product.
    fn factored(&self, dy: Value) -> (Value, Option<Value>) {
        let (cx, g) = (self.cx, self.cx.g);
        let Some(gamma) = cx.opt(1).map(|gamma| wide(g, gamma)) else { return (dy, None) };
        let offset = self.rows.offset;
        let factor = if offset == 0.0 { gamma } else { g.affine(gamma, 1.0, offset) };
        if self.has_rows(gamma) { (dy, Some(factor)) } else { (g.mul(dy, factor), None) }
    }

    /// dx in f32: what dy gives of it, and what the statistics that are results give.
    fn of_x(&self, by_dy: Option<Value>, found: Option<Statistics>) -> Value {
        let (cx, g) = (self.cx, self.cx.g);
        let [dmean, dinverse] = self.of_statistics();
        let turned = dinverse.map(|dr| self.of_inverse(dr, found));
        let lifted = dmean.map(|dmean| g.div(dmean, self.count()));
        let whole = by_dy.into_iter().chain(turned).reduce(|a, b| g.add(a, b));
        match (whole, lifted) {
            (Some(whole), Some(lifted)) => g.add(whole, lifted),
            (Some(whole), None) => whole,
            (None, Some(lifted)) => g.expand_to(lifted, cx.shape(self.x)),
            (None, None) => cx.zeros(self.x),
        }
    }

    /// −r·x̂·dr·r/n.
    fn of_inverse(&self, dr: Value, found: Option<Statistics>) -> Value {
        let g = self.cx.g;
        let inverse = self.statistics(found).inverse;
        let along = g.div(g.mul(g.mul(dr, inverse), inverse), self.count());
        g.neg(g.mul(self.normal(found), along))
    }

    /// Those that results or `found` have, else computed from x.
    fn statistics(&self, found: Option<Statistics>) -> Statistics {
        let (cx, g, rows) = (self.cx, self.cx.g, self.rows);
        match found {
            Some(found) => found,
            None if rows.statistics => {
                let mean = rows.centred.then(|| cx.y(1));
                Statistics { mean, inverse: cx.y(1 + usize::from(rows.centred)) }
            }
            None => {
                let mean = rows.centred.then(|| g.reduce_mean(self.x, &self.axes, true));
                let about = mean.map_or(self.x, |mean| g.sub(self.x, mean));
                Statistics { mean, inverse: inverse_of(g, about, &self.axes, rows.epsilon) }
            }
        }
    }

    /// x̂. As large as x, and made again from it: not before there is a gradient to multiply it by.
    fn normal(&self, found: Option<Statistics>) -> Value {
        let g = self.cx.g;
        let Statistics { mean, inverse } = self.statistics(found);
        let x = self.cx.held(self.x);
        g.mul(mean.map_or(x, |mean| g.sub(x, mean)), inverse)
    }

    /// The gradients of mean and inverse deviation, where they are results that the loss depends on.
    fn of_statistics(&self) -> [Option<Value>; 2] {
        match (self.rows.statistics, self.rows.centred) {
            (false, _) => [None, None],
            (true, true) => [self.cx.upstream(1), self.cx.upstream(2)],
            (true, false) => [None, self.cx.upstream(1)],
        }
    }

    /// n.
    fn count(&self) -> Value {
        let axes: Vec<usize> = self.axes.iter().map(|&axis| axis as usize).collect();
        self.cx.g.count_of(self.cx.x(0), &self.cx.shape(self.cx.x(0)), &axes)
    }
}
