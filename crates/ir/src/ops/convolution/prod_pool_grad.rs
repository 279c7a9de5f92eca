//! The gradient of products of windows: dy times the product of all other taps, without a division, so that zeros are
//! right.
//!
//! A product over several axes is one over each axis after the other, and each is passed by itself: element n of an
//! axis gets, from every window that covers it, dy times the product of the taps before its own and of those after.

use super::pool_grad::{Covering, Near, Windows};
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{CumProd, GradCx};
use pumice_types::{DType, DimExpr, WindowAxis};

impl Windows {
    /// dx of the products of the elements under each window.
    pub(super) fn of_products(&self, cx: &GradCx<'_>) -> Value {
        let g = cx.g;
        if self.sees_nothing() {
            return cx.zeros(cx.x(0));
        }
        let mut v = self.with_elements(g, wide(g, cx.x(0)));
        let mut under = Vec::with_capacity(self.axes.len());
        for (axis, window) in (2..).zip(&self.axes) {
            let taps = self.taps(g, v, axis, window);
            v = g.reduce_prod(taps, &[axis as i64 + 1], false);
            under.push(taps);
        }
        let mut d = wide(g, cx.dy());
        for (at, taps) in under.into_iter().enumerate().rev() {
            let (axis, window) = (at + 2, &self.axes[at]);
            d = self.past_axis(
                g,
                g.mul(others(g, taps, axis), g.unsqueeze(d, &[axis as i64 + 1])),
                axis,
                window,
            );
        }
        narrowed(cx, d, cx.x(0))
    }

    /// The elements under the taps of each window along an axis, \[…, positions, taps, …\]; 1 under those outside.
    fn taps(&self, g: &GraphBuilder, v: Value, axis: usize, window: &WindowAxis) -> Value {
        let (o, kernel) = (&self.y[axis], DimExpr::from(window.kernel));
        let origin = g.scaled(g.counted(o), window.stride, -(window.begin as i64));
        let origin = g.over(origin, std::slice::from_ref(o), 1);
        let place = g.add(origin, g.scaled(g.counted(&kernel), window.dilation, 0));
        let [zero, last] = [g.whole(0), g.scaled(g.length(&self.x[axis]), 1, -1)];
        let inside = g.and(g.less_or_equal(zero, place), g.less_or_equal(place, last));
        let inside = g.over(inside, &[o.clone(), kernel], self.x.len() - 1 - axis);
        let held = g.at_least(g.at_most(place, last), zero);
        g.select(inside, g.gather(v, held, axis as i64), g.constant_scalar(DType::F32, 1.0))
    }

    /// Of a value of each tap of each window, \[…, positions, taps, …\], the sum over those that are an element.
    fn past_axis(&self, g: &GraphBuilder, taps: Value, axis: usize, window: &WindowAxis) -> Value {
        let (n, o) = (&self.x[axis], &self.y[axis]);
        let mut shape = g.type_of(taps).map(|ty| ty.shape.to_vec()).unwrap_or_default();
        if axis + 1 < shape.len() {
            let kernel = shape.remove(axis + 1);
            shape[axis] = &shape[axis] * &kernel;
        }
        let near = Near::of(g, n, o, window);
        let [zero, last] = [g.whole(0), g.scaled(g.length(o), 1, -1)];
        let covers = near.covers(g, [zero, last], window);
        let position = g.between(near.position, zero, last);
        let tap = g.div(near.after, g.whole(window.dilation as i64));
        let tap = g.between(tap, zero, g.whole(window.kernel as i64 - 1));
        let place = g.add(g.scaled(position, window.kernel, 0), tap);
        let found = Covering { positions: place, covers, several: near.several };
        found.summed(g, g.reshape_to(taps, shape), axis, self.x.len() - 1 - axis)
    }
}

/// For each tap the product of all others of its window.
fn others(g: &GraphBuilder, taps: Value, axis: usize) -> Value {
    let axis = axis as i64 + 1;
    let beside = |reverse| g.cum_prod(taps, CumProd { axis, exclusive: true, reverse });
    g.mul(beside(false), beside(true))
}
