//! Gradients of pools where no kernel takes their windows ([`super::pool_gathers`] says which those are), composed: dy
//! of every window that covers an element, gathered there, axis by axis.
//!
//! Element n of an axis is under tap t of the window at position q where n + begin = q·stride + t·dilation. Of each
//! element there are at most ⌈reach/stride⌉ such positions, or as many as there are at all: a table \[n, positions\]
//! says which, and a second one whether they are. Sums are made in f32.

use crate::builder::{GraphBuilder, Value};
use crate::ops::convolution::max_pool_indices::Axis;
use crate::ops::convolution::pool::Pool;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::pad::Pad;
use crate::ops::{GradCx, NoGrad};
use pumice_types::{DType, DimExpr, WindowAxis};

/// The windows of a pool, and its extents.
pub(super) struct Windows {
    pub(super) pool: Pool,
    pub(super) axes: Vec<WindowAxis>,
    /// The extents of x.
    pub(super) x: Vec<DimExpr>,
    /// The extents of y.
    pub(super) y: Vec<DimExpr>,
}

/// Over an axis \[n\], or \[n, positions\].
pub(super) struct Covering {
    /// Positions whose windows cover an element.
    pub(super) positions: Value,
    /// Whether they do.
    pub(super) covers: Value,
    /// Whether there may be more than one.
    pub(super) several: bool,
}

/// Positions that may cover each element of an axis: \[n\], \[n, positions\], or where the element does not decide
/// them \[positions\].
pub(super) struct Near {
    pub(super) position: Value,
    /// How far the element is after where the window begins: \[n\] or \[n, positions\].
    pub(super) after: Value,
    /// Whether there may be more than one.
    pub(super) several: bool,
}

/// The elements of x over the tables of all spatial axes.
struct Elements {
    /// Their numbers in row-major order.
    number: Value,
    /// Whether the position of each axis covers them; none without axes.
    covered: Option<Value>,
    /// Axes of several positions.
    several: Vec<i64>,
}

impl Windows {
    /// Those of a node that is this pool.
    pub fn of(cx: &GradCx<'_>, pool: Pool) -> Result<Windows, NoGrad> {
        Windows::new(pool, cx.shape(cx.x(0)), cx.shape(cx.y(0)))
    }

    /// Those of a pool of x to y.
    pub fn new(pool: Pool, x: Vec<DimExpr>, y: Vec<DimExpr>) -> Result<Windows, NoGrad> {
        let axes = pool.windows(x.len().saturating_sub(2));
        let axes = axes.map_err(|_| NoGrad::Undefined("its lists fit no window"))?;
        Ok(Windows { pool, axes, x, y })
    }

    /// Whether x has no element, whatever symbols are.
    pub(super) fn sees_nothing(&self) -> bool {
        self.x.iter().any(|n| n.is(0))
    }

    /// Of a value of each window the sum over those that cover an element, in the dtype of x.
    pub fn spread(&self, cx: &GradCx<'_>, value: Value) -> Value {
        let g = cx.g;
        if self.sees_nothing() {
            return cx.zeros(cx.x(0));
        }
        let mut v = wide(g, value);
        for (axis, window) in (2..).zip(&self.axes) {
            v = self.covering(g, axis, window).summed(g, v, axis, self.x.len() - 1 - axis);
        }
        narrowed(cx, v, cx.x(0))
    }

    /// Positions that cover each element of an axis.
    fn covering(&self, g: &GraphBuilder, axis: usize, window: &WindowAxis) -> Covering {
        let (n, o) = (&self.x[axis], &self.y[axis]);
        let near = Near::of(g, n, o, window);
        let bounds = [g.whole(0), g.scaled(g.length(o), 1, -1)];
        let covers = near.covers(g, bounds, window);
        let positions = g.between(near.position, bounds[0], bounds[1]);
        // A table that the element does not decide is the same for each.
        let shape = g.type_of(covers).map(|ty| ty.shape.to_vec()).unwrap_or_default();
        Covering { positions: g.expand_to(positions, shape), covers, several: near.several }
    }

    /// A value of each window over the divisor of its mean, in f32.
    pub fn divided(&self, g: &GraphBuilder, value: Value, pads_count: bool) -> Value {
        let no_pads = || self.axes.iter().all(|w| w.begin == 0 && w.end == 0);
        let divisor = match !self.pool.ceil_mode && (pads_count || no_pads()) {
            true => g.constant_scalar(DType::F32, self.axes.iter().map(|w| w.kernel as f64).product()),
            false => self.divisor(g, pads_count),
        };
        g.div(wide(g, value), divisor)
    }

    /// How many taps of each window count, the product over axes as f32 \[positions…\]; a window of none covers no
    /// element: it has 1.
    fn divisor(&self, g: &GraphBuilder, pads_count: bool) -> Value {
        let mut all = g.whole(1);
        for (axis, window) in (2..).zip(&self.axes) {
            let count = g.at_least(self.counting(g, axis, window, pads_count), g.whole(1));
            let o = std::slice::from_ref(&self.y[axis]);
            all = g.mul(all, g.over(count, o, self.x.len() - 1 - axis));
        }
        g.cast(all, DType::F32)
    }

    /// How many taps of each window along an axis count: those inside, and where pads count those in them.
    fn counting(&self, g: &GraphBuilder, axis: usize, window: &WindowAxis, pads_count: bool) -> Value {
        let [first, more] = if pads_count { [0, window.end] } else { [window.begin, 0] };
        let origin = g.scaled(g.counted(&self.y[axis]), window.stride, 0);
        let end = g.scaled(g.length(&self.x[axis]), 1, (window.begin + more) as i64);
        let before = taps_before(g, g.whole(first as i64), origin, window);
        g.sub(taps_before(g, end, origin, window), before)
    }

    /// Of dy of each window what goes to the first of the largest elements under it: dx\[n\] = Σ dy\[q\] over the
    /// windows q whose largest element is n. `x` is the operand, or its negative where the smallest is meant.
    pub fn to_largest(&self, cx: &GradCx<'_>, x: Value) -> Value {
        let g = cx.g;
        if self.sees_nothing() {
            return cx.zeros(cx.x(0));
        }
        let tables: Vec<Covering> =
            (2..).zip(&self.axes).map(|(axis, window)| self.covering(g, axis, window)).collect();
        let [place, dy] = over_elements(g, [self.places_of_largest(g, x), wide(g, cx.dy())], &tables);
        let elements = self.elements(g, &tables);
        let is_largest = g.equal(place, elements.number);
        let chosen = elements.covered.map_or(is_largest, |covered| g.and(covered, is_largest));
        let kept = g.select(chosen, dy, g.constant_scalar(DType::F32, 0.0));
        narrowed(cx, elements.summed(g, kept), cx.x(0))
    }

    /// The elements of x over the tables of all spatial axes.
    fn elements(&self, g: &GraphBuilder, tables: &[Covering]) -> Elements {
        let mut elements = Elements { number: g.whole(0), covered: None, several: Vec::new() };
        let mut later: usize = tables.iter().map(Covering::rank).sum();
        let rank = later + 2;
        for (n, found) in self.x[2..].iter().zip(tables) {
            later -= found.rank();
            elements.several.extend(found.several.then_some((rank - 1 - later) as i64));
            let own = g.over(g.counted(n), std::slice::from_ref(n), later + found.rank() - 1);
            elements.number = numbered(g, elements.number, n, own);
            let covers = found.beside(g, later);
            elements.covered = Some(elements.covered.map_or(covers, |others| g.and(others, covers)));
        }
        elements
    }

    /// x with an element more on axes that symbols may leave without one: no tap is there.
    pub(super) fn with_elements(&self, g: &GraphBuilder, x: Value) -> Value {
        let symbols = g.symbols().unwrap_or_default();
        let spatial = 2..self.x.len();
        let empty = |&axis: &usize| self.x[axis].lower(&symbols) == 0;
        let axes: Vec<i64> = spatial.filter(empty).map(|axis| axis as i64).collect();
        let pads = [vec![0; axes.len()], vec![1; axes.len()]].concat();
        if axes.is_empty() { x } else { g.pad(x, None, Pad { pads, axes, ..Pad::default() }) }
    }

    /// Where the first of the largest elements under each window is, counted over the spatial axes in row-major order,
    /// \[B, C, positions…\]; −1 under windows that see nothing.
    fn places_of_largest(&self, g: &GraphBuilder, x: Value) -> Value {
        let axis = |(at, window): (usize, _)| Axis { at, window, n: &self.x[at], o: &self.y[at] };
        let axes: Vec<Axis<'_>> = (2..).zip(&self.axes).map(axis).collect();
        let places = g.places_of_largest(self.with_elements(g, x), &axes, self.x.len());
        in_row_major(g, &axes, &places)
    }
}

impl Elements {
    /// The sum over positions.
    fn summed(&self, g: &GraphBuilder, v: Value) -> Value {
        if self.several.is_empty() { v } else { g.reduce_sum(v, &self.several, false) }
    }
}

impl Near {
    /// Of an axis of n elements that has o positions.
    pub(super) fn of(g: &GraphBuilder, n: &DimExpr, o: &DimExpr, window: &WindowAxis) -> Near {
        let (count, are_all) = how_many(o, window);
        let element = g.scaled(g.counted(n), 1, window.begin as i64);
        let (element, of_place) = match count {
            1 => (element, g.whole(0)),
            _ => (g.over(element, std::slice::from_ref(n), 1), g.counted(&DimExpr::from(count))),
        };
        let stride = g.whole(window.stride as i64);
        let position = if are_all { of_place } else { g.sub(g.div(element, stride), of_place) };
        let after = g.sub(element, g.mul(position, stride));
        Near { position, after, several: count > 1 }
    }

    /// Whether a position is one, from the first to the last, and a tap of its window is over the element.
    pub(super) fn covers(&self, g: &GraphBuilder, [zero, last]: [Value; 2], window: &WindowAxis) -> Value {
        let is_one = g.and(g.less_or_equal(zero, self.position), g.less_or_equal(self.position, last));
        let within = g.less_or_equal(self.after, g.whole(window.reach() as i64 - 1));
        let covers = g.and(is_one, g.and(g.less_or_equal(zero, self.after), within));
        if window.dilation <= 1 {
            return covers;
        }
        let rest = g.modulo(self.after, g.whole(window.dilation as i64), false);
        g.and(covers, g.equal(rest, zero))
    }
}

impl Covering {
    /// Along an axis, which has so many after it, of the values at the positions the sum over those that cover each
    /// element.
    pub(super) fn summed(&self, g: &GraphBuilder, v: Value, axis: usize, later: usize) -> Value {
        let under = g.gather(v, self.positions, axis as i64);
        let kept = g.select(self.beside(g, later), under, g.constant_scalar(DType::F32, 0.0));
        if self.several { g.reduce_sum(kept, &[axis as i64 + 1], false) } else { kept }
    }

    /// Whether positions cover elements, beside so many axes after.
    fn beside(&self, g: &GraphBuilder, later: usize) -> Value {
        let shape = g.type_of(self.covers).map(|ty| ty.shape.to_vec()).unwrap_or_default();
        g.over(self.covers, &shape, later)
    }

    /// How many axes its tables have.
    fn rank(&self) -> usize {
        1 + usize::from(self.several)
    }
}

/// How many of so many positions may cover an element, and whether these are all that there are.
pub(super) fn how_many(o: &DimExpr, window: &WindowAxis) -> (u64, bool) {
    let most = window.reach().div_ceil(window.stride);
    match o.as_extent().filter(|&o| o <= most) {
        Some(all) => (all, true),
        None => (most, false),
    }
}

/// Two values of each window, over the elements and the positions of every table.
fn over_elements(g: &GraphBuilder, mut values: [Value; 2], tables: &[Covering]) -> [Value; 2] {
    for (i, found) in tables.iter().enumerate().rev() {
        values = values.map(|v| g.gather(v, found.positions, i as i64 + 2));
    }
    values
}

/// The number of an element in row-major order, by that over the axes before and that on an axis of n.
fn numbered(g: &GraphBuilder, before: Value, n: &DimExpr, own: Value) -> Value {
    g.add(g.mul(before, g.length(n)), own)
}

/// One number of places along each axis; −1 where one of them is less than 0.
fn in_row_major(g: &GraphBuilder, axes: &[Axis<'_>], places: &[Value]) -> Value {
    let (zero, mut flat, mut nothing) = (g.whole(0), g.whole(0), None);
    for (axis, &place) in axes.iter().zip(places) {
        let outside = g.less(place, zero);
        nothing = Some(nothing.map_or(outside, |other| g.or(other, outside)));
        flat = numbered(g, flat, axis.n, place);
    }
    nothing.map_or(flat, |nothing| g.select(nothing, g.whole(-1), flat))
}

/// Taps of a window that begins at `origin` which lie before an element.
fn taps_before(g: &GraphBuilder, element: Value, origin: Value, window: &WindowAxis) -> Value {
    let left = g.at_least(g.sub(element, origin), g.whole(0));
    let count = g.div(g.scaled(left, 1, window.dilation as i64 - 1), g.whole(window.dilation as i64));
    g.at_most(count, g.whole(window.kernel as i64))
}
