//! Where the largest elements under a window are, as a composition beside `MaxPool`.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::max_pool::MaxPool;
use crate::ops::{Cast, OpDef};
use pumice_types::{DType, DimExpr, WindowAxis};

impl GraphBuilder {
    /// The largest element under a window, and where it is (ONNX MaxPool with Indices): x\[B, C, spatial…\] → values
    /// \[B, C, positions…\] of x's dtype, as [`GraphBuilder::max_pool`] makes them, and i64 of that shape: places in
    /// the whole of x in row-major order, or with its spatial axes in column-major order (`storage_order` 1). Of
    /// equal elements the first in row-major order counts, and NaN wins. The index of a window all of whose taps are
    /// outside is −1. Indices that nobody uses cost nothing. Spatial extents are at least 1.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::max_pool::MaxPool;
    /// let g = GraphBuilder::new("g");
    /// let op = MaxPool { kernel: vec![2, 2], strides: vec![2, 2], ..MaxPool::default() };
    /// let (y, at) = g.max_pool_with_indices(g.input("x", f32([1, 3, 8, 8])), op, 0);
    /// g.output("y", y);
    /// g.output("at", at);
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn max_pool_with_indices(&self, x: Value, op: MaxPool, storage_order: u64) -> (Value, Value) {
        let method = "max_pool_with_indices";
        let checked = self.checked_operands(method, &["x"], &[x], |cx| checked(cx, &op, storage_order));
        let shape = match checked {
            Ok(types) => types[0].shape.clone(),
            Err(mistake) => return (mistake, mistake),
        };
        let windows = op.windows(shape.len() - 2).unwrap_or_default();
        let g = self.composition(method);
        let y = g.max_pool(x, op);
        let Some(out) = g.type_of(y) else { return (y, y) };
        let axes: Vec<Axis<'_>> = windows
            .iter()
            .enumerate()
            .map(|(i, window)| Axis { at: i + 2, window, n: &shape[i + 2], o: &out.shape[i + 2] })
            .collect();
        let places = g.places_of_largest(x, &axes, shape.len());
        let at = g.flat_places(&shape, &axes, &places, storage_order == 1);
        (y, g.last().apply(Cast { to: DType::I64 }, &[at]))
    }
}

/// The rule of the operand and the attributes.
fn checked(cx: &Infer<'_>, op: &MaxPool, storage_order: u64) -> Result<(), OpError> {
    op.infer(cx)?;
    if storage_order > 1 {
        let reason = "it is 0 (rows) or 1 (columns)".to_owned();
        return Err(AttrError::Value { name: "storage_order", reason }.into());
    }
    expect_elements(cx, &cx.ty(0)?.shape[2..])
}

/// Errors where an extent may be 0.
pub(super) fn expect_elements(cx: &Infer<'_>, extents: &[DimExpr]) -> Result<(), OpError> {
    match extents.iter().find(|n| n.lower(cx.symbols()) == 0) {
        None => Ok(()),
        Some(n) => Err(OpError::ExtentUnsupported {
            what: "an axis that may have no elements".into(),
            extent: cx.show(std::slice::from_ref(n)),
        }),
    }
}

/// A window on a spatial axis of n elements that has o positions.
pub(super) struct Axis<'a> {
    pub at: usize,
    pub window: &'a WindowAxis,
    pub n: &'a DimExpr,
    pub o: &'a DimExpr,
}

impl GraphBuilder {
    /// For each axis, where the first of the largest elements under each window is, \[B, C, positions…\]; −1 under
    /// windows that see nothing. The last axis first: of each row its first largest element, then the first such row.
    #[track_caller]
    pub(super) fn places_of_largest(&self, x: Value, axes: &[Axis<'_>], rank: usize) -> Vec<Value> {
        let (mut v, mut found): (Value, Vec<Value>) = (x, Vec::new());
        for axis in axes.iter().rev() {
            let (at, taps) = (axis.at as i64, self.taps(axis));
            let under = self.gather(v, taps.places, at);
            let tap = self.arg_max(under, at + 1, true);
            let one = |v| self.squeeze(self.gather_elements(v, tap, at + 1), &[at + 1]);
            v = one(under);
            found = found.into_iter().map(|v| one(self.gather(v, taps.places, at))).collect();
            found.push(self.place_of(self.squeeze(tap, &[at + 1]), &taps, axis, rank));
        }
        found.reverse();
        found
    }

    /// The place of the tap of that number among those that are inside.
    #[track_caller]
    fn place_of(&self, tap: Value, taps: &Taps, axis: &Axis<'_>, rank: usize) -> Value {
        let column = |v| self.over(v, std::slice::from_ref(axis.o), rank - 1 - axis.at);
        let tap = self.at_most(self.add(column(taps.first), tap), column(taps.last));
        let place = self.add(column(taps.origin), self.scaled(tap, axis.window.dilation, 0));
        self.select(column(taps.seen), place, self.whole(-1))
    }

    /// What the windows of an axis see. Taps outside are replaced by one inside, which changes neither the largest
    /// element nor which is the first.
    #[track_caller]
    fn taps(&self, axis: &Axis<'_>) -> Taps {
        let Axis { window, n, o, .. } = axis;
        let origin = self.scaled(self.counted(o), window.stride, -(window.begin as i64));
        let end = self.scaled(self.length(n), 1, -1);
        let (first, last, seen) = self.inside(window, origin, self.sub(end, origin));
        let row = |v| self.over(v, std::slice::from_ref(*o), 1);
        let (one, most) = (DimExpr::constant(1), n.min_with(&DimExpr::from(window.kernel)));
        let is_empty = most.lower(&self.symbols().unwrap_or_default()) == 0;
        let most = if is_empty { most.max_with(&one) } else { most };
        let tap = self.at_most(self.add(row(first), self.counted(&most)), row(last));
        let place = self.add(row(origin), self.scaled(tap, window.dilation, 0));
        Taps { origin, first, last, seen, places: self.between(place, self.whole(0), end) }
    }

    /// The first and the last tap inside, and whether there is one, of windows from `origin` on; the axis has `left`
    /// elements after that.
    #[track_caller]
    fn inside(&self, window: &WindowAxis, origin: Value, left: Value) -> (Value, Value, Value) {
        let (zero, dilation) = (self.whole(0), self.whole(window.dilation as i64));
        let before = self.at_least(self.sub(zero, origin), zero);
        let first = self.div(self.scaled(before, 1, window.dilation as i64 - 1), dilation);
        let last = self.div(self.at_least(left, zero), dilation);
        let last = self.at_most(last, self.whole(window.kernel as i64 - 1));
        let within = self.less_or_equal(self.mul(first, dilation), left);
        let seen = self.and(self.less_or_equal(first, last), within);
        (first, self.at_least(first, last), seen)
    }

    /// b·C + c of every batch and channel.
    #[track_caller]
    fn channels(&self, shape: &[DimExpr]) -> Value {
        let [batch, channel] =
            [0, 1].map(|i| self.over(self.counted(&shape[i]), &shape[i..=i], shape.len() - 1 - i));
        self.add(self.mul(batch, self.length(&shape[1])), channel)
    }

    /// Places in the whole of x from those on each spatial axis.
    #[track_caller]
    fn flat_places(&self, shape: &[DimExpr], axes: &[Axis<'_>], places: &[Value], columns: bool) -> Value {
        let spatial = axes.len();
        let mut order: Vec<usize> = (0..spatial).collect();
        if columns {
            order.reverse();
        }
        let zero = self.whole(0);
        let (mut flat, mut nothing) = (self.channels(shape), None);
        for i in order {
            let outside = self.less(places[i], zero);
            nothing = Some(nothing.map_or(outside, |other| self.or(other, outside)));
            flat = self.add(self.mul(flat, self.length(&shape[i + 2])), places[i]);
        }
        nothing.map_or(flat, |nothing| self.select(nothing, self.whole(-1), flat))
    }
}

/// Tables over the positions of an axis.
struct Taps {
    /// Where tap 0 is.
    origin: Value,
    /// The first and the last tap inside.
    first: Value,
    last: Value,
    /// Whether any is.
    seen: Value,
    /// Places of the taps inside, \[positions, taps\].
    places: Value,
}
