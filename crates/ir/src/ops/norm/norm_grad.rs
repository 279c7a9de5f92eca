//! The rule of gradients of `LayerNorm` and `RmsNorm`.
//!
//! With x̂ the normalized x, r the inverse deviation, f the factor (o + γ, or 1), u = dy·f, n elements a row and dμ, dr
//! the gradients of the statistics: dx = r·(u − mean u − x̂·(Σ u·x̂ + dr·r)/n) + dμ/n, of `RmsNorm` without the mean's
//! terms; dγ = Σ dy·x̂, dβ = Σ dy over what they were stretched along.

use crate::builder::Value;
use crate::infer::normalize_axis;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads};

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
    /// The normalized axes.
    axes: Vec<i64>,
    /// x̂.
    normal: Value,
    /// r, with extent 1 on the normalized axes.
    inverse: Value,
}

impl Rows {
    /// Gradients of x, γ and β.
    pub fn gradients(&self, cx: &GradCx<'_>) -> Grads {
        let parts = Parts::new(self, cx);
        let (g, dy) = (cx.g, cx.upstream(0).map(|dy| wide(cx.g, dy)));
        let dx = cx.wanted(0, || narrowed(cx, parts.of_x(dy), cx.x(0)));
        let scale = |i: usize, by: Option<Value>| {
            let operand = cx.opt(i).filter(|_| cx.wants(i))?;
            // Of a loss of statistics alone.
            let Some(dy) = dy else { return Some(cx.zeros(operand)) };
            let whole = by.map_or(dy, |by| g.mul(dy, by));
            Some(narrowed(cx, cx.unstretched(whole, operand), operand))
        };
        vec![dx, scale(1, Some(parts.normal)), scale(2, None)]
    }

    /// The mean, if that is taken off.
    fn mean(&self, cx: &GradCx<'_>, x: Value, axes: &[i64]) -> Option<Value> {
        let mean = || if self.statistics { cx.y(1) } else { cx.g.reduce_mean(x, axes, true) };
        self.centred.then(mean)
    }

    /// r, by what lies about the mean.
    fn inverse(&self, cx: &GradCx<'_>, about: Value, axes: &[i64]) -> Value {
        if self.statistics {
            return cx.y(if self.centred { 2 } else { 1 });
        }
        let spread = cx.g.reduce_mean(cx.g.square(about), axes, true);
        cx.g.rsqrt(cx.g.affine(spread, 1.0, self.epsilon))
    }
}

impl<'a, 'b> Parts<'a, 'b> {
    /// x̂ and r, the statistics computed where they are no results.
    fn new(rows: &'a Rows, cx: &'a GradCx<'b>) -> Parts<'a, 'b> {
        let x = wide(cx.g, cx.x(0));
        let rank = cx.ty(x).rank();
        let first = normalize_axis(rows.axis, rank).unwrap_or(0);
        let axes: Vec<i64> = (first..rank).map(|axis| axis as i64).collect();
        let mean = rows.mean(cx, x, &axes);
        let about = |x: Value| mean.map_or(x, |mean| cx.g.sub(x, mean));
        let inverse = rows.inverse(cx, about(x), &axes);
        // As large as x, and made again from it: not before there is a gradient to multiply it by.
        let normal = cx.g.mul(about(cx.held(x)), inverse);
        Parts { cx, rows, axes, normal, inverse }
    }

    /// dx in f32.
    fn of_x(&self, dy: Option<Value>) -> Value {
        let (cx, g) = (self.cx, self.cx.g);
        let [dmean, dinverse] = self.of_statistics();
        let turned = self.around(dy, dinverse).map(|sum| g.mul(sum, self.inverse));
        let lifted = dmean.map(|dmean| g.div(dmean, self.count()));
        match (turned, lifted) {
            (Some(turned), Some(lifted)) => g.add(turned, lifted),
            (Some(turned), None) => turned,
            (None, Some(lifted)) => g.expand_to(lifted, cx.shape(cx.x(0))),
            (None, None) => cx.zeros(wide(g, cx.x(0))),
        }
    }

    /// u − mean u − x̂·(Σ u·x̂ + dr·r)/n, as far as the loss depends on it.
    fn around(&self, dy: Option<Value>, dinverse: Option<Value>) -> Option<Value> {
        let g = self.cx.g;
        let u = dy.map(|dy| self.factor().map_or(dy, |factor| g.mul(dy, factor)));
        let along = self.along(u, dinverse);
        let level = u.filter(|_| self.rows.centred).map(|u| g.reduce_mean(u, &self.axes, true));
        let along = along.map(|along| g.mul(self.normal, g.div(along, self.count())));
        let less = [level, along].into_iter().flatten();
        less.fold(u, |sum, part| Some(sum.map_or_else(|| g.neg(part), |sum| g.sub(sum, part))))
    }

    /// Σ u·x̂ + dr·r, as far as the loss depends on it.
    fn along(&self, u: Option<Value>, dinverse: Option<Value>) -> Option<Value> {
        let g = self.cx.g;
        let along = u.map(|u| g.reduce_sum(g.mul(u, self.normal), &self.axes, true));
        let moved = dinverse.map(|dr| g.mul(dr, self.inverse));
        [along, moved].into_iter().flatten().reduce(|a, b| g.add(a, b))
    }

    /// The gradients of mean and inverse deviation, where they are results that the loss depends on.
    fn of_statistics(&self) -> [Option<Value>; 2] {
        match (self.rows.statistics, self.rows.centred) {
            (false, _) => [None, None],
            (true, true) => [self.cx.upstream(1), self.cx.upstream(2)],
            (true, false) => [None, self.cx.upstream(1)],
        }
    }

    /// What x̂ is multiplied by.
    fn factor(&self) -> Option<Value> {
        let g = self.cx.g;
        let gamma = wide(g, self.cx.opt(1)?);
        Some(if self.rows.offset == 0.0 { gamma } else { g.affine(gamma, 1.0, self.rows.offset) })
    }

    /// n.
    fn count(&self) -> Value {
        let axes: Vec<usize> = self.axes.iter().map(|&axis| axis as usize).collect();
        self.cx.g.count_of(self.cx.x(0), &self.cx.shape(self.cx.x(0)), &axes)
    }
}
