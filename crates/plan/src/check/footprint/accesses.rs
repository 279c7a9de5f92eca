//! Elements as a kernel accesses them and as a view shows them, in a form in which the same bytes are the same.
//!
//! In: a first element and axes of extent and stride. Out: the bytes they are, as axes sorted by stride and merged
//! where one goes on where the other ends. Axes of one element, and axes that repeat elements, say nothing about bytes.

use super::order::Order;
use crate::view::{Unit, View};
use pumice_types::{Bindings, EvalError};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Extent and stride in bytes, sorted by stride.
type ByteAxes = SmallVec<[(u64, i128); 6]>;

/// Extent and stride.
type Axes = SmallVec<[(u64, i64); 6]>;

/// Elements of some width, or of blocks.
#[derive(Clone, Debug)]
pub(super) struct Accesses {
    unit: Unit,
    first: i64,
    axes: Axes,
    order: Order,
    /// The extents of its view, where the last axis of the accesses is all of its spatial ones.
    shape: Option<([u64; 2], [u64; 3])>,
    /// Extents of neighbouring axes of its view, with the elements before and after them.
    within: Option<(u64, Axes, u64)>,
}

impl Accesses {
    /// Elements of such a unit, the first of them at this index.
    pub fn new(unit: impl Into<Unit>, first: i64) -> Accesses {
        Accesses {
            unit: unit.into(),
            first,
            axes: Axes::new(),
            order: Order::Listed,
            shape: None,
            within: None,
        }
    }

    /// The same, with what its view says of the order of its axes.
    pub fn ordered(self, order: Order) -> Accesses {
        Accesses { order, ..self }
    }

    /// The same, of a view of two axes and these spatial ones: the kernel counts places along all of them by one
    /// number, which it takes apart by their extents.
    pub fn shaped(self, outer: [u64; 2], spatial: [u64; 3]) -> Accesses {
        Accesses { shape: Some((outer, spatial)), ..self }
    }

    /// The same, of a view that has neighbouring axes of these extents, so many elements before them and after them:
    /// the kernel makes a place of coordinates along these.
    pub fn within(self, before: u64, extents: &[u64], after: u64) -> Accesses {
        let extents = extents.iter().map(|&n| (n, 0)).collect();
        Accesses { within: Some((before, extents, after)), ..self }
    }

    /// How the extents of its view differ from those that the kernel takes places apart by.
    pub fn differs_in_shape(&self, view: &ViewElements) -> Option<String> {
        let within = self.within.as_ref().filter(|_| !view.is_empty());
        if let Some((before, extents, after)) = within.filter(|w| !view.has_axes(w.0, &w.1, w.2)) {
            let extents: Vec<u64> = extents.iter().map(|axis| axis.0).collect();
            return Some(format!(
                "no axes of it have {extents:?} elements, {before} before them and {after} after"
            ));
        }
        let (outer, spatial) = self.shape.filter(|_| !view.is_empty())?;
        let differs = !view.has_shape(outer, spatial);
        differs.then(|| format!("the kernel takes extents {outer:?} and {spatial:?}, its view has others"))
    }

    /// What its view says of the order of its axes.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Elements that share bytes.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Words of 32 bits, from index 0 on.
    pub fn words() -> Accesses {
        Accesses::new(4, 0)
    }

    /// So many of what there is, so many elements apart.
    pub fn axis(mut self, extent: u64, stride: i64) -> Accesses {
        self.axes.push((extent, stride));
        self
    }

    /// Words from index 0 on, one after the other.
    pub fn dense(unit: impl Into<Unit>, count: u64) -> Accesses {
        Accesses::new(unit, 0).axis(count, 1)
    }

    /// Extent and stride of each axis, in elements.
    pub fn axes(&self) -> &[(u64, i64)] {
        &self.axes
    }

    fn is_empty(&self) -> bool {
        self.axes.iter().any(|a| a.0 == 0)
    }

    /// The largest index of an element; `None` where there is none. Negative indices count as far as any.
    pub fn largest_index(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let (mut low, mut high) = (self.first, self.first);
        for &(extent, stride) in &self.axes {
            let span = stride.saturating_mul(i64::try_from(extent - 1).unwrap_or(i64::MAX));
            low = low.saturating_add(span.min(0));
            high = high.saturating_add(span.max(0));
        }
        Some(if low < 0 { u64::MAX } else { high as u64 })
    }

    /// Whether some element comes more than once by an axis of stride 0.
    pub fn repeats(&self) -> bool {
        !self.is_empty() && self.axes.iter().any(|&(extent, stride)| extent > 1 && stride == 0)
    }

    /// How its bytes differ from those of a view; accesses of nothing differ from none.
    pub fn differs(&self, view: &ViewElements) -> Option<String> {
        if self.is_empty() {
            return (!view.is_empty() && !self.may_be_empty())
                .then(|| "the kernel touches nothing of it".to_owned());
        }
        let Some((first, axes)) = canonical(self.unit, self.first, &self.axes) else {
            return Some("the kernel cuts blocks".to_owned());
        };
        if view.is_empty() {
            return Some(format!("the kernel touches {}, its view has nothing", shown(first, &axes)));
        }
        let Some((other, view_axes)) = canonical(view.unit, view.first, &view.axes) else {
            return Some("its view cuts blocks".to_owned());
        };
        (first != other || axes != view_axes).then(|| {
            format!("the kernel touches {}, its view is {}", shown(first, &axes), shown(other, &view_axes))
        })
    }

    /// Where the iteration is empty by an axis that repeats this operand, it is not touched, and that is right.
    fn may_be_empty(&self) -> bool {
        self.axes.iter().any(|&(extent, stride)| extent == 0 && stride == 0)
    }
}

/// A view at some bindings.
#[derive(Clone, Debug)]
pub(in crate::check) struct ViewElements {
    unit: Unit,
    first: i64,
    axes: Axes,
}

impl ViewElements {
    /// Of a view.
    pub fn of(view: &View, bindings: &Bindings) -> Result<ViewElements, EvalError> {
        let mut axes = Axes::new();
        for (extent, stride) in view.shape.iter().zip(&view.strides) {
            axes.push((extent.eval_extent(bindings)?, stride.eval(bindings)?));
        }
        Ok(ViewElements { unit: view.storage.unit(view.dtype), first: view.offset.eval(bindings)?, axes })
    }

    /// Elements that share bytes.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Extent and stride of each axis, in elements.
    pub fn axes(&self) -> &[(u64, i64)] {
        &self.axes
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|a| a.0 == 0)
    }

    /// Whether these are its extents; of the spatial ones it may lack the first, where they have one element.
    pub fn has_shape(&self, outer: [u64; 2], spatial: [u64; 3]) -> bool {
        let lacks = (outer.len() + spatial.len()).checked_sub(self.axes.len());
        let Some((lacking, shown)) = lacks.and_then(|n| spatial.split_at_checked(n)) else { return false };
        lacking.iter().all(|&n| n == 1)
            && self.axes.iter().map(|a| a.0).eq(outer.into_iter().chain(shown.iter().copied()))
    }

    /// Whether neighbouring axes have `extent` elements together, those before them `outer`, those after them `inner`.
    pub fn has_axis(&self, [outer, extent, inner]: [u64; 3]) -> bool {
        let elements = |axes: &[(u64, i64)]| axes.iter().fold(1, |all: u64, a| all.saturating_mul(a.0));
        let all = &self.axes[..];
        let mut runs = (0..all.len()).flat_map(|from| (from + 1..=all.len()).map(move |to| (from, to)));
        let is = |(from, to): (usize, usize)| {
            [&all[..from], &all[from..to], &all[to..]].map(elements) == [outer, extent, inner]
        };
        // What has no axes has one element.
        runs.any(is) || (all.is_empty() && [outer, extent, inner] == [1; 3])
    }

    /// Whether neighbouring axes have exactly these extents, and so many elements before them and after them.
    fn has_axes(&self, before: u64, extents: &[(u64, i64)], after: u64) -> bool {
        let elements = |axes: &[(u64, i64)]| axes.iter().fold(1, |all: u64, a| all.saturating_mul(a.0));
        let starts = 0..(self.axes.len() + 1).saturating_sub(extents.len());
        starts.into_iter().any(|from| {
            let (outer, rest) = self.axes.split_at(from);
            let (own, inner) = rest.split_at(extents.len());
            own.iter().map(|a| a.0).eq(extents.iter().map(|a| a.0))
                && (elements(outer), elements(inner)) == (before, after)
        })
    }

    /// How many elements it shows.
    pub fn elements(&self) -> u64 {
        self.axes.iter().fold(1, |all, a| all.saturating_mul(a.0))
    }

    /// The bytes between its first and its last element.
    pub fn covered(&self) -> (i128, i128) {
        if self.is_empty() {
            return (0, 0);
        }
        let (mut low, mut high) = (i128::from(self.first), i128::from(self.first));
        for &(extent, stride) in &self.axes {
            let span = i128::from(stride).saturating_mul(i128::from(extent) - 1);
            low = low.saturating_add(span.min(0));
            high = high.saturating_add(span.max(0));
        }
        let (elements, width) = (i128::from(self.unit.elements), i128::from(self.unit.bytes));
        let (first, last) = (low.div_euclid(elements), high.div_euclid(elements));
        (first.saturating_mul(width), last.saturating_add(1).saturating_mul(width))
    }
}

/// Blocks instead of their elements: the first of them, and axes that count them. They lie along one axis of stride 1,
/// in whole numbers, and every other axis goes from block to block; `None` where that is not so.
fn in_blocks(elements: u64, first: i64, axes: &Axes) -> Option<(i64, Cow<'_, Axes>)> {
    if elements == 1 {
        return Some((first, Cow::Borrowed(axes)));
    }
    let by = i64::try_from(elements).ok()?;
    if let Some(count) = neighbours(axes).filter(|_| elements == CODES_OF_A_BYTE && first % by == 0) {
        return Some((first / by, Cow::Owned(Axes::from_slice(&[(count.div_ceil(elements), 1)]))));
    }
    let along = axes.iter().position(|&(n, stride)| stride == 1 && n > 1 && n.is_multiple_of(elements))?;
    let from_block_to_block = |&(n, stride): &(u64, i64)| n == 1 || stride % by == 0;
    let others = axes.iter().enumerate().filter(|(i, _)| *i != along);
    if first % by != 0 || !others.clone().all(|(_, axis)| from_block_to_block(axis)) {
        return None;
    }
    let mut blocks: Axes =
        others.map(|(_, &(n, stride))| (n, if n == 1 { 0 } else { stride / by })).collect();
    blocks.push((axes[along].0 / elements, 1));
    Some((first / by, Cow::Owned(blocks)))
}

/// Codes of four bits that share a byte. They go on from row to row, and what fills the last byte is of no use to
/// others.
const CODES_OF_A_BYTE: u64 = 2;

/// How many elements these are, where each is the next one's neighbour.
fn neighbours(axes: &Axes) -> Option<u64> {
    let mut sorted: Axes = axes.iter().copied().filter(|axis| axis.0 != 1).collect();
    sorted.sort_unstable_by_key(|axis| axis.1);
    let mut count = 1u64;
    for (extent, stride) in sorted {
        if stride < 0 || stride as u64 != count {
            return None;
        }
        count = count.checked_mul(extent)?;
    }
    Some(count)
}

/// The first byte and the axes, in bytes; `None` where a block is cut.
fn canonical(unit: Unit, first: i64, axes: &Axes) -> Option<(i128, ByteAxes)> {
    let (first, axes) = in_blocks(unit.elements, first, axes)?;
    let scale = i128::from(unit.bytes);
    let mut sorted: ByteAxes = ByteAxes::new();
    sorted.push((unit.bytes, 1));
    let real = axes.iter().filter(|&&(extent, stride)| extent != 1 && stride != 0);
    sorted.extend(real.map(|&(extent, stride)| (extent, i128::from(stride) * scale)));
    sorted.sort_unstable_by_key(|&(extent, stride)| (stride.unsigned_abs(), extent, stride));
    sorted.dedup_by(|&mut (extent, stride), (n, by)| {
        let goes_on = i128::from(*n) * *by == stride;
        if goes_on {
            *n = n.saturating_mul(extent);
        }
        goes_on
    });
    Some((i128::from(first) * scale, sorted))
}

fn shown(first: i128, axes: &[(u64, i128)]) -> String {
    let axes: Vec<String> = axes.iter().map(|(n, by)| format!("{n} by {by}")).collect();
    format!("bytes {first}: {}", axes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(extents: &[u64]) -> ViewElements {
        ViewElements { unit: 4.into(), first: 0, axes: extents.iter().map(|&n| (n, 1)).collect() }
    }

    /// A softmax along the middle axis of \[2, 3, 4\] is none along the middle one of \[3, 2, 4\], whose bytes are
    /// the same.
    #[test]
    fn an_axis_has_a_place() {
        let x = view(&[2, 3, 4]);
        assert!(x.has_axis([2, 3, 4]) && x.has_axis([1, 2, 12]) && x.has_axis([6, 4, 1]));
        assert!(!x.has_axis([3, 2, 4]) && !x.has_axis([1, 3, 8]));
        let square = view(&[6, 4]);
        assert!(square.has_axis([1, 6, 4]) && !square.has_axis([6, 1, 4]));
        assert!(view(&[]).has_axis([1, 1, 1]));
    }

    /// A place in \[5, 7\] is none in \[7, 5\], also where one of the axes has one element.
    #[test]
    fn neighbouring_axes_have_an_order() {
        let places = |extents: &[u64]| Accesses::words().within(2, extents, 3);
        let x = view(&[2, 5, 7, 3]);
        assert_eq!(places(&[5, 7]).differs_in_shape(&x), None);
        assert!(places(&[7, 5]).differs_in_shape(&x).is_some());
        let thin = view(&[2, 5, 1, 3]);
        assert_eq!(places(&[5, 1]).differs_in_shape(&thin), None);
        assert!(places(&[1, 5]).differs_in_shape(&thin).is_some());
        assert!(places(&[2, 5, 1, 3, 1]).differs_in_shape(&thin).is_some());
    }

    /// Twenty positions of 4 x 5 are none of 5 x 4, nor of 4 x 1 x 5.
    #[test]
    fn spatial_axes_have_a_place() {
        let y = view(&[2, 3, 4, 5]);
        assert!(y.has_shape([2, 3], [1, 4, 5]));
        assert!(!y.has_shape([2, 3], [1, 5, 4]) && !y.has_shape([2, 3], [4, 1, 5]));
        assert!(!y.has_shape([3, 2], [1, 4, 5]) && !y.has_shape([2, 3], [2, 4, 5]));
        assert!(!view(&[2]).has_shape([2, 3], [1, 4, 5]));
    }
}
