//! The rule of gradients of `BatchNormTraining`, of a loss that depends on its first result alone.
//!
//! With n elements a channel, r = 1/√(σ² + ε), x̂ = (x − μ)·r, Σ over the elements of a channel: dβ = Σ dy, dγ = Σ
//! dy·x̂, both found in one step over x and dy, and dx = γ·r·(dy − dβ/n − x̂·dγ/n), one elementwise step. Of a loss
//! that depends on statistics the op is passed as what it is made of.

use super::batch_norm_training::BatchNormTraining;
use super::norm_sums::LONGEST_RUN;
use crate::builder::Value;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NoGrad, NormSums};
use crate::shape::product;
use pumice_types::DimExpr;

/// Gradients of x, γ and β; the running statistics do not move the first result.
pub(super) fn rule(op: &BatchNormTraining, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let dy = match (cx.upstream(0), (1..5).any(|i| cx.upstream(i).is_some())) {
        (Some(dy), false) => wide(cx.g, dy),
        _ => return Err(NoGrad::Composed),
    };
    let batch = Batch::new(op, cx, dy);
    let [turned, plain] = batch.sums();
    Ok(vec![
        cx.wanted(0, || narrowed(cx, batch.of_x([turned, plain]), cx.x(0))),
        cx.wanted(1, || narrowed(cx, turned, cx.x(1))),
        cx.wanted(2, || narrowed(cx, plain, cx.x(2))),
    ])
}

/// A node of it in f32.
struct Batch<'a, 'b> {
    cx: &'a GradCx<'b>,
    x: Value,
    dy: Value,
    /// Of x.
    shape: Vec<DimExpr>,
    /// r of each channel.
    inverse: Value,
}

impl<'a, 'b> Batch<'a, 'b> {
    fn new(op: &BatchNormTraining, cx: &'a GradCx<'b>, dy: Value) -> Batch<'a, 'b> {
        let inverse = cx.g.rsqrt(cx.g.affine(cx.y(4), 1.0, op.epsilon));
        Batch { cx, x: wide(cx.g, cx.x(0)), dy, shape: cx.shape(cx.x(0)), inverse }
    }

    /// Σ dy·x̂ and Σ dy of each channel: of each of its rows in runs, which are then added.
    fn sums(&self) -> [Value; 2] {
        let g = self.cx.g;
        let (seen, op, axes) = self.runs();
        let [x, dy] = [self.x, self.dy].map(|v| g.reshape_to(v, seen.clone()));
        let (turned, plain) = g.norm_sums(x, dy, self.inverse, Some(self.cx.y(3)), op);
        [turned, plain].map(|of_runs| g.reduce_sum(of_runs, &axes, false))
    }

    /// The extents over which runs are summed, how, and the axes over which these are added.
    fn runs(&self) -> (Vec<DimExpr>, NormSums, Vec<i64>) {
        let [batches, channels] = [self.shape[0].clone(), self.shape[1].clone()];
        let pixels = product(&self.shape[2..]);
        if pixels.is(1) {
            let op = NormSums::along(0, &batches, 1);
            return (vec![batches, channels], op, vec![0]);
        }
        (vec![batches, channels, pixels], NormSums { axis: 2, of: 1, run: LONGEST_RUN }, vec![0, 2])
    }

    /// γ·r·(dy − dβ/n − (x − μ)·(r·dγ/n)).
    fn of_x(&self, [turned, plain]: [Value; 2]) -> Value {
        let (cx, g) = (self.cx, self.cx.g);
        let counted: Vec<usize> = (0..self.shape.len()).filter(|&axis| axis != 1).collect();
        let count = g.count_of(cx.x(0), &self.shape, &counted);
        let scale = self.column(g.mul(wide(g, cx.x(1)), self.inverse));
        let level = self.column(g.div(plain, count));
        let along = self.column(g.mul(g.div(turned, count), self.inverse));
        // As large as x, and made again from it.
        let apart = g.sub(cx.held(self.x), self.column(cx.y(3)));
        g.mul(scale, g.sub(g.sub(self.dy, level), g.mul(apart, along)))
    }

    /// Numbers of channels as they stretch over x.
    fn column(&self, of_channels: Value) -> Value {
        let ones = self.shape[2..].iter().map(|_| DimExpr::constant(1));
        self.cx
            .g
            .reshape_to(of_channels, std::iter::once(self.shape[1].clone()).chain(ones).collect::<Vec<_>>())
    }
}
