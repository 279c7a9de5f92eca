//! Gradients of pools as gathers: dx\[n\] = Σ dy\[q\] over the windows q that cover n, over their divisors where they
//! are means, and of extremes only from those whose largest (smallest) element n is.
//!
//! They are nodes of `pool_spread`, after `pool_places` where extremes are meant. Windows that no kernel takes, with
//! more taps, farther ones or more elements than kernels count to, are composed of tables ([`super::pool_grad`]).

use super::pool_grad::{Windows, how_many};
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::pad::Pad;
use crate::ops::{GradCx, PoolPlaces, PoolSpread};
use crate::shape::product;
use pumice_types::{DType, WindowAxis};

/// The largest number of a window, and elements, taps and windows over an element, that kernels count to.
const LARGEST: u64 = 1 << 29;
const MOST: u64 = 1 << 30;

impl Windows {
    /// dx of sums.
    pub fn of_sums(&self, cx: &GradCx<'_>) -> Value {
        self.gathered(cx, None, |op| op).unwrap_or_else(|| self.spread(cx, cx.dy()))
    }

    /// dx of means, whose divisors count pads or not.
    pub fn of_means(&self, cx: &GradCx<'_>, pads_count: bool) -> Value {
        let mean = |op| PoolSpread { mean: true, count_include_pad: pads_count, ..op };
        let composed = || self.spread(cx, self.divided(cx.g, cx.dy(), pads_count));
        self.gathered(cx, None, mean).unwrap_or_else(composed)
    }

    /// dx of the largest elements, or the smallest.
    pub fn of_extremes(&self, cx: &GradCx<'_>, smallest: bool) -> Value {
        let (g, x) = (cx.g, cx.x(0));
        let places = || g.pool_places(x, PoolPlaces::of(self.pool.clone(), smallest));
        let composed = || self.to_largest(cx, if smallest { g.neg(x) } else { x });
        self.gathered(cx, Some(&places), |op| op).unwrap_or_else(composed)
    }

    /// dy where windows are over elements; none where no kernel takes them.
    fn gathered(
        &self,
        cx: &GradCx<'_>,
        places: Option<&dyn Fn() -> Value>,
        with: impl FnOnce(PoolSpread) -> PoolSpread,
    ) -> Option<Value> {
        if self.sees_nothing() || !self.is_counted(cx.g) {
            return None;
        }
        let op = with(PoolSpread::of(self.pool.clone(), self.x[2..].to_vec()));
        let spread = cx.g.pool_spread(wide(cx.g, cx.dy()), places.map(|make| make()), op);
        Some(narrowed(cx, spread, cx.x(0)))
    }

    /// The largest number of a window.
    fn largest(&self) -> u64 {
        let numbers = |w: &WindowAxis| [w.stride, w.begin, w.end, w.reach()];
        self.axes.iter().flat_map(numbers).max().unwrap_or(0)
    }

    /// Whether kernels count to the numbers of the windows.
    fn is_counted(&self, g: &GraphBuilder) -> bool {
        let symbols = g.symbols().unwrap_or_default();
        let taps: Vec<u64> = self.axes.iter().map(|w| w.kernel).collect();
        let over: Vec<u64> = self.axes.iter().zip(&self.y[2..]).map(|(w, o)| how_many(o, w).0).collect();
        let elements = [&self.x, &self.y].map(|shape| product(shape).upper(&symbols));
        let counts = [&taps, &over].map(|counts| counts.iter().fold(1, |n: u64, &k| n.saturating_mul(k)));
        self.largest() <= LARGEST && elements.iter().chain(&counts).all(|&n| n <= MOST)
    }

    /// Where symbols may leave a channel without elements, one after them: every place is -1 then, and reads it.
    fn with_one_more(&self, g: &GraphBuilder, elements: Value) -> Value {
        let symbols = g.symbols().unwrap_or_default();
        if self.x[2..].iter().all(|n| n.lower(&symbols) > 0) {
            return elements;
        }
        g.pad(elements, None, Pad { pads: vec![0, 1], axes: vec![2], ..Pad::default() })
    }

    /// Of a value of each element that at the place of each window, 0 where it has none. Places are as `pool_places`
    /// gives them.
    pub fn at_places(&self, g: &GraphBuilder, value: Value, places: Value) -> Value {
        let zero = g.constant_scalar(DType::F32, 0.0);
        if self.sees_nothing() {
            return g.expand_to(zero, self.y.clone());
        }
        let flat = |shape: &[_]| [&shape[..2], &[product(&shape[2..])]].concat();
        let elements = self.with_one_more(g, g.reshape_to(value, flat(&self.x)));
        let (inside, at) = self.inside(g, g.reshape_to(places, flat(&self.y)));
        let found = g.gather_elements(elements, at, 2);
        g.reshape_to(g.select(inside, found, zero), self.y.clone())
    }

    /// Whether places are of elements, and what is read there.
    fn inside(&self, g: &GraphBuilder, places: Value) -> (Value, Value) {
        let first = g.constant_scalar(DType::I32, 0.0);
        let last = g.cast(g.scaled(g.length(&product(&self.x[2..])), 1, -1), DType::I32);
        let inside = g.and(g.less_or_equal(first, places), g.less_or_equal(places, last));
        (inside, g.max(&[first, g.min(&[places, last])]))
    }
}
