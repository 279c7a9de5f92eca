//! Elements as a kernel accesses them and as a view shows them, in a form in which the same bytes are the same.
//!
//! In: a first element and axes of extent and stride. Out: the bytes they are, as axes sorted by stride and merged
//! where one goes on where the other ends. Axes of one element, and axes that repeat elements, say nothing about bytes.

use super::order::Order;
use crate::check::numbers::{At, Number};
use crate::view::{Unit, View};
use pumice_types::EvalError;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Extent and stride.
pub(super) type Axes<'i> = SmallVec<[(Number<'i>, Number<'i>); 6]>;

/// Elements of some width, or of blocks.
#[derive(Clone, Debug)]
pub(super) struct Accesses<'i> {
    unit: Unit,
    first: Number<'i>,
    axes: Axes<'i>,
    order: Order,
    /// The extents of its view, where the last axis of the accesses is all of its spatial ones.
    shape: Option<([Number<'i>; 2], [Number<'i>; 3])>,
    /// Extents of neighbouring axes of its view, with the elements before and after them.
    within: Option<(Number<'i>, Axes<'i>, Number<'i>)>,
}

impl<'i> Accesses<'i> {
    /// Elements of such a unit, the first of them at this index.
    pub fn new(unit: impl Into<Unit>, first: impl Into<Number<'i>>) -> Accesses<'i> {
        Accesses {
            unit: unit.into(),
            first: first.into(),
            axes: Axes::new(),
            order: Order::Listed,
            shape: None,
            within: None,
        }
    }

    /// The same, with what its view says of the order of its axes.
    pub fn ordered(self, order: Order) -> Accesses<'i> {
        Accesses { order, ..self }
    }

    /// The same, of a view of two axes and these spatial ones: the kernel counts places along all of them by one
    /// number, which it takes apart by their extents.
    pub fn shaped<N: Into<Number<'i>>>(self, outer: [N; 2], spatial: [N; 3]) -> Accesses<'i> {
        Accesses { shape: Some((outer.map(Into::into), spatial.map(Into::into))), ..self }
    }

    /// The same, of a view that has neighbouring axes of these extents, so many elements before them and after them:
    /// the kernel makes a place of coordinates along these.
    pub fn within<N: Into<Number<'i>> + Copy>(
        self,
        before: impl Into<Number<'i>>,
        extents: &[N],
        after: impl Into<Number<'i>>,
    ) -> Accesses<'i> {
        let extents = extents.iter().map(|&n| (n.into(), 0.into())).collect();
        Accesses { within: Some((before.into(), extents, after.into())), ..self }
    }

    /// How the extents of its view differ from those that the kernel takes places apart by.
    pub fn differs_in_shape(&self, view: &ViewElements<'i>) -> Option<String> {
        let within = self.within.as_ref().filter(|_| !view.is_empty());
        if let Some((before, extents, after)) = within.filter(|w| !view.has_axes(w.0, &w.1, w.2)) {
            let extents: Vec<Number<'_>> = extents.iter().map(|axis| axis.0).collect();
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
    pub fn words() -> Accesses<'i> {
        Accesses::new(4, 0)
    }

    /// So many of what there is, so many elements apart.
    pub fn axis(mut self, extent: impl Into<Number<'i>>, stride: impl Into<Number<'i>>) -> Accesses<'i> {
        self.axes.push((extent.into(), stride.into()));
        self
    }

    /// Words from index 0 on, one after the other.
    pub fn dense(unit: impl Into<Unit>, count: impl Into<Number<'i>>) -> Accesses<'i> {
        Accesses::new(unit, 0).axis(count, 1)
    }

    /// Extent and stride of each axis, in elements.
    pub fn axes(&self) -> &[(Number<'i>, Number<'i>)] {
        &self.axes
    }

    fn is_empty(&self) -> bool {
        self.axes.iter().any(|a| a.0 == 0)
    }

    /// The largest index of an element; `None` where there is none. Negative indices count as far as any.
    pub fn largest_index(&self) -> Option<Number<'i>> {
        if self.is_empty() {
            return None;
        }
        let (low, high) = ends(self.first, &self.axes);
        Some(if low < 0 { u64::MAX.into() } else { high })
    }

    /// Whether some element comes more than once by an axis of stride 0.
    pub fn repeats(&self) -> bool {
        !self.is_empty() && self.axes.iter().any(|&(extent, stride)| extent > 1 && stride == 0)
    }

    /// How its bytes differ from those of a view; accesses of nothing differ from none.
    pub fn differs(&self, view: &ViewElements<'i>) -> Option<String> {
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
pub(in crate::check) struct ViewElements<'i> {
    unit: Unit,
    first: Number<'i>,
    axes: Axes<'i>,
}

impl<'i> ViewElements<'i> {
    /// Of a view.
    pub fn of(view: &View, at: impl Into<At<'i>>) -> Result<ViewElements<'i>, EvalError> {
        let (at, mut axes) = (at.into(), Axes::new());
        for (extent, stride) in view.shape.iter().zip(&view.strides) {
            axes.push((at.extent(extent)?, at.number(stride)?));
        }
        Ok(ViewElements { unit: view.storage.unit(view.dtype), first: at.number(&view.offset)?, axes })
    }

    /// Elements that share bytes.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Extent and stride of each axis, in elements.
    pub fn axes(&self) -> &[(Number<'i>, Number<'i>)] {
        &self.axes
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|a| a.0 == 0)
    }

    /// Whether these are its extents; of the spatial ones it may lack the first, where they have one element.
    pub fn has_shape(&self, outer: [Number<'i>; 2], spatial: [Number<'i>; 3]) -> bool {
        let lacks = (outer.len() + spatial.len()).checked_sub(self.axes.len());
        let Some((lacking, shown)) = lacks.and_then(|n| spatial.split_at_checked(n)) else { return false };
        lacking.iter().all(|&n| n == 1)
            && self.axes.iter().map(|a| a.0).eq(outer.into_iter().chain(shown.iter().copied()))
    }

    /// Whether neighbouring axes have `extent` elements together, those before them `outer`, those after them `inner`.
    pub fn has_axis(&self, [outer, extent, inner]: [Number<'i>; 3]) -> bool {
        let all = &self.axes[..];
        let mut runs = (0..all.len()).flat_map(|from| (from + 1..=all.len()).map(move |to| (from, to)));
        let is = |(from, to): (usize, usize)| {
            [&all[..from], &all[from..to], &all[to..]].map(elements) == [outer, extent, inner]
        };
        // What has no axes has one element.
        runs.any(is) || (all.is_empty() && [outer, extent, inner].iter().all(|n| *n == 1))
    }

    /// Whether neighbouring axes have exactly these extents, and so many elements before them and after them.
    fn has_axes(&self, before: Number<'i>, extents: &[(Number<'i>, Number<'i>)], after: Number<'i>) -> bool {
        let starts = 0..(self.axes.len() + 1).saturating_sub(extents.len());
        starts.into_iter().any(|from| {
            let (outer, rest) = self.axes.split_at(from);
            let (own, inner) = rest.split_at(extents.len());
            own.iter().map(|a| a.0).eq(extents.iter().map(|a| a.0))
                && (elements(outer), elements(inner)) == (before, after)
        })
    }

    /// How many elements it shows.
    pub fn elements(&self) -> Number<'i> {
        elements(&self.axes)
    }

    /// The bytes between its first and its last element.
    pub fn covered(&self) -> (Number<'i>, Number<'i>) {
        if self.is_empty() {
            return (0.into(), 0.into());
        }
        let (low, high) = ends(self.first, &self.axes);
        let (first, last) = (low / self.unit.elements, high / self.unit.elements);
        (first * self.unit.bytes, (last + 1) * self.unit.bytes)
    }
}

/// How many elements axes have.
pub(super) fn elements<'i>(axes: &[(Number<'i>, Number<'i>)]) -> Number<'i> {
    axes.iter().fold(1.into(), |all: Number<'i>, a| all * a.0)
}

/// The first and the last element along axes that have some.
fn ends<'i>(first: Number<'i>, axes: &Axes<'i>) -> (Number<'i>, Number<'i>) {
    axes.iter().fold((first, first), |(low, high), &(extent, stride)| {
        let span = stride * (extent - 1);
        if stride < 0 { (low + span, high) } else { (low, high + span) }
    })
}

/// Blocks instead of their elements: the first of them, and axes that count them. They lie along one axis of stride 1,
/// in whole numbers, and every other axis goes from block to block; `None` where that is not so.
fn in_blocks<'a, 'i>(
    by: u64,
    first: Number<'i>,
    axes: &'a Axes<'i>,
) -> Option<(Number<'i>, Cow<'a, Axes<'i>>)> {
    if by == 1 {
        return Some((first, Cow::Borrowed(axes)));
    }
    if let Some(count) = neighbours(axes).filter(|_| by == CODES_OF_A_BYTE && first % by == 0) {
        return Some((first / by, Cow::Owned(Axes::from_slice(&[(count.div_ceil(by), 1.into())]))));
    }
    let along = axes.iter().position(|&(n, stride)| stride == 1 && n > 1 && n.is_multiple_of(by))?;
    let from_block_to_block = |&(n, stride): &(Number<'i>, Number<'i>)| n == 1 || stride % by == 0;
    let others = axes.iter().enumerate().filter(|(i, _)| *i != along);
    if first % by != 0 || !others.clone().all(|(_, axis)| from_block_to_block(axis)) {
        return None;
    }
    let mut blocks: Axes<'i> =
        others.map(|(_, &(n, stride))| (n, if n == 1 { 0.into() } else { stride / by })).collect();
    blocks.push((axes[along].0 / by, 1.into()));
    Some((first / by, Cow::Owned(blocks)))
}

/// Codes of four bits that share a byte. They go on from row to row, and what fills the last byte is of no use to
/// others.
const CODES_OF_A_BYTE: u64 = 2;

/// How many elements these are, where each is the next one's neighbour.
fn neighbours<'i>(axes: &Axes<'i>) -> Option<Number<'i>> {
    let mut sorted: Axes<'i> = axes.iter().copied().filter(|axis| axis.0 != 1).collect();
    sorted.sort_unstable_by_key(|axis| axis.1);
    let mut count: Number<'i> = 1.into();
    for (extent, stride) in sorted {
        if stride != count {
            return None;
        }
        count = count * extent;
    }
    Some(count)
}

/// The first byte and the axes, in bytes; `None` where a block is cut.
fn canonical<'i>(unit: Unit, first: Number<'i>, axes: &Axes<'i>) -> Option<(Number<'i>, Axes<'i>)> {
    let (first, axes) = in_blocks(unit.elements, first, axes)?;
    let mut sorted = Axes::new();
    sorted.push((unit.bytes.into(), 1.into()));
    let real = axes.iter().filter(|&&(extent, stride)| extent != 1 && stride != 0);
    sorted.extend(real.map(|&(extent, stride)| (extent, stride * unit.bytes)));
    sorted.sort_unstable_by_key(|&(extent, stride)| (stride.unsigned_abs(), extent, stride));
    sorted.dedup_by(|&mut (extent, stride), (n, by)| {
        let goes_on = *n * *by == stride;
        if goes_on {
            *n = *n * extent;
        }
        goes_on
    });
    Some((first * unit.bytes, sorted))
}

fn shown(first: Number<'_>, axes: &Axes<'_>) -> String {
    let axes: Vec<String> = axes.iter().map(|(n, by)| format!("{n} by {by}")).collect();
    format!("bytes {first}: {}", axes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(extents: &[u64]) -> ViewElements<'static> {
        let axes = extents.iter().map(|&n| (n.into(), 1.into())).collect();
        ViewElements { unit: 4.into(), first: 0.into(), axes }
    }

    /// A softmax along the middle axis of \[2, 3, 4\] is none along the middle one of \[3, 2, 4\], whose bytes are
    /// the same.
    #[test]
    fn an_axis_has_a_place() {
        let x = view(&[2, 3, 4]);
        assert!(
            x.has_axis([2, 3, 4].map(Number::from))
                && x.has_axis([1, 2, 12].map(Number::from))
                && x.has_axis([6, 4, 1].map(Number::from))
        );
        assert!(!x.has_axis([3, 2, 4].map(Number::from)) && !x.has_axis([1, 3, 8].map(Number::from)));
        let square = view(&[6, 4]);
        assert!(
            square.has_axis([1, 6, 4].map(Number::from)) && !square.has_axis([6, 1, 4].map(Number::from))
        );
        assert!(view(&[]).has_axis([1, 1, 1].map(Number::from)));
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
        assert!(y.has_shape([2, 3].map(Number::from), [1, 4, 5].map(Number::from)));
        assert!(
            !y.has_shape([2, 3].map(Number::from), [1, 5, 4].map(Number::from))
                && !y.has_shape([2, 3].map(Number::from), [4, 1, 5].map(Number::from))
        );
        assert!(
            !y.has_shape([3, 2].map(Number::from), [1, 4, 5].map(Number::from))
                && !y.has_shape([2, 3].map(Number::from), [2, 4, 5].map(Number::from))
        );
        assert!(!view(&[2]).has_shape([2, 3].map(Number::from), [1, 4, 5].map(Number::from)));
    }
}
