//! The order in which a kernel takes the elements of an operand: that of the axes of its view.
//!
//! In: the accesses of a call, whose axes a rule lists from the outermost to the innermost as its kernel understands
//! them, and the views of their uses. A square that is read with the strides of its two axes exchanged is the same
//! bytes, and its transpose. So both lists of axes must be the same, once axes of one element are gone and axes are
//! merged where the outer one goes on where the inner one ends. A view that shows fewer elements than the kernel takes
//! is stretched: then axes of stride 0 say nothing.
//!
//! Some kernels know an axis by its name alone ([`Order`]): a plan does not say whether an operand is transposed, or
//! which of its axes are reduced.

use super::accesses::{Accesses, Axes, ViewElements, elements};
use super::{Footprint, Port, Subject};
use crate::check::error::Fault;
use crate::check::numbers::Number;

/// What a view says of the order of the axes of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// They come as the rule lists them.
    Listed,
    /// Axes 1 and 2 are heads and rows: either may stand before the other, in all operands of the call alike.
    HeadsAndRows,
    /// Either of the last two may stand before the other: those of a factor, which may be transposed.
    LastTwo,
    /// The first half of them comes as the rule lists it, and so does the second: those that a reduction keeps, and
    /// those that it reduces. How the halves lie among each other a plan does not say.
    TwoHalves,
    /// Nothing.
    Any,
}

/// Extent and stride, in elements.
type Axis<'i> = (Number<'i>, Number<'i>);

impl Subject<'_> {
    /// Every operand is taken in the order of its view.
    pub(super) fn order<'i>(
        &self,
        footprint: &Footprint<'i>,
        views: &[Option<ViewElements<'i>>],
    ) -> Result<(), Fault> {
        let Some((port, [accessed, shown])) = disordered(footprint, views, Heads::First) else {
            return Ok(());
        };
        // Where no operand has heads, the answer is the same.
        if disordered(footprint, views, Heads::AfterRows).is_none() {
            return Ok(());
        }
        let why = format!("the kernel takes axes {accessed:?}, its view shows {shown:?}");
        Err(Fault::Footprint { operand: self.name(port), why })
    }
}

/// Where heads stand in all operands of a call that have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    /// Before rows.
    First,
    /// After rows.
    AfterRows,
}

/// An operand that is taken in another order than its view's: axes that the kernel takes, and those of the view.
fn disordered<'i>(
    footprint: &Footprint<'i>,
    views: &[Option<ViewElements<'i>>],
    heads: Heads,
) -> Option<(Port, [Axes<'i>; 2])> {
    footprint.accesses.iter().zip(views).find_map(|((port, accesses), view)| {
        let view = view.as_ref()?;
        let mut axes = Axes::from_slice(accesses.axes());
        let last = axes.len().wrapping_sub(1);
        let found = match accesses.order() {
            Order::Any => None,
            Order::HeadsAndRows if heads == Heads::AfterRows => {
                axes.swap(1, 2);
                differ(accesses, axes, view)
            }
            Order::Listed | Order::HeadsAndRows => differ(accesses, axes, view),
            Order::TwoHalves => differ_interleaved(accesses, &axes, view),
            Order::LastTwo => differ(accesses, axes.clone(), view).filter(|_| {
                axes.swap(last - 1, last);
                differ(accesses, axes, view).is_some()
            }),
        };
        found.map(|axes| (*port, axes))
    })
}

/// Axes of accesses and those of a view, merged, where they differ.
fn differ<'i>(
    accesses: &Accesses<'i>,
    mut accessed: Axes<'i>,
    view: &ViewElements<'i>,
) -> Option<[Axes<'i>; 2]> {
    if accesses.unit() != view.unit() || view.is_empty() || accessed.iter().any(|a| a.0 == 0) {
        return None;
    }
    let mut shown = Axes::from_slice(view.axes());
    if elements(&accessed) != elements(&shown) {
        accessed.retain(|a| a.1 != 0);
        shown.retain(|a| a.1 != 0);
    }
    let (accessed, shown) = (merged(&accessed), merged(&shown));
    (accessed != shown).then_some([accessed, shown])
}

/// As [`differ`], in every order in which each half of the axes keeps its own.
fn differ_interleaved<'i>(
    accesses: &Accesses<'i>,
    axes: &Axes<'i>,
    view: &ViewElements<'i>,
) -> Option<[Axes<'i>; 2]> {
    let (first, second) = axes.split_at(axes.len() / 2);
    let real = |half: &[Axis<'i>]| half.iter().copied().filter(|a| a.0 != 1).collect::<Axes<'i>>();
    let fits = |order: &Axes<'i>| differ(accesses, order.clone(), view).is_none();
    let found = some_interleaved(&mut Axes::new(), [&real(first), &real(second)], &fits);
    if found { None } else { differ(accesses, axes.clone(), view) }
}

/// Whether something holds for what was taken, followed by some order of the rest of two lists that keeps both.
fn some_interleaved<'i>(
    taken: &mut Axes<'i>,
    [first, second]: [&[Axis<'i>]; 2],
    holds: &dyn Fn(&Axes<'i>) -> bool,
) -> bool {
    if first.is_empty() && second.is_empty() {
        return holds(taken);
    }
    let mut after = |next: Option<&Axis<'i>>, rest: [&[Axis<'i>]; 2]| {
        let Some(&next) = next else { return false };
        taken.push(next);
        let found = some_interleaved(taken, rest, holds);
        taken.pop();
        found
    };
    after(first.first(), [first.get(1..).unwrap_or_default(), second])
        || after(second.first(), [first, second.get(1..).unwrap_or_default()])
}

/// The axes of more than one element, merged where the outer one goes on where the inner one ends.
fn merged<'i>(axes: &Axes<'i>) -> Axes<'i> {
    let mut merged = Axes::new();
    for &(extent, stride) in axes.iter().filter(|a| a.0 != 1) {
        match merged.last_mut() {
            Some((outer, by)) if *by == extent * stride => {
                (*outer, *by) = (*outer * extent, stride);
            }
            _ => merged.push((extent, stride)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Storage, View};
    use pumice_types::{Bindings, DType, DimExpr};

    fn view(axes: &[(i64, i64)]) -> ViewElements<'static> {
        let dims = |of: fn(&(i64, i64)) -> i64| axes.iter().map(|a| DimExpr::constant(of(a))).collect();
        let (shape, strides, offset) = (dims(|a| a.0), dims(|a| a.1), DimExpr::constant(0));
        let view = View { dtype: DType::F32, storage: Storage::Arena, shape, strides, offset };
        ViewElements::of(&view, &*Box::leak(Box::<Bindings>::default())).expect("constants")
    }

    fn axes(of: &[(u64, i64)]) -> Axes<'static> {
        of.iter().map(|&(extent, stride)| (extent.into(), stride.into())).collect()
    }

    fn same(accessed: &[(u64, i64)], shown: &[(i64, i64)]) -> bool {
        differ(&Accesses::words(), axes(accessed), &view(shown)).is_none()
    }

    #[test]
    fn a_square_has_an_order() {
        assert!(same(&[(4, 4), (4, 1)], &[(4, 4), (4, 1)]));
        assert!(same(&[(4, 1), (4, 4)], &[(4, 1), (4, 4)]));
        assert!(!same(&[(4, 1), (4, 4)], &[(4, 4), (4, 1)]));
    }

    #[test]
    fn axes_that_go_on_are_one() {
        assert!(same(&[(1, 9), (6, 4), (4, 1)], &[(2, 12), (3, 4), (1, 7), (4, 1)]));
        assert!(same(&[(24, 1)], &[(2, 12), (3, 4), (4, 1)]));
        assert!(!same(&[(24, 1)], &[(3, 4), (2, 12), (4, 1)]));
    }

    fn reduced(kept: &[(u64, i64)], reduced: &[(u64, i64)], shown: &[(i64, i64)]) -> bool {
        let axes = axes(&[kept, reduced].concat());
        differ_interleaved(&Accesses::words(), &axes, &view(shown)).is_none()
    }

    /// x\[4, 4, 5\] of which the last axis or the middle one is reduced; with the strides of the kept axes exchanged
    /// the result would be transposed.
    #[test]
    fn kept_axes_have_an_order_and_so_have_reduced_ones() {
        let x = [(4, 20), (4, 5), (5, 1)];
        assert!(reduced(&[(4, 20), (4, 5)], &[(1, 0), (5, 1)], &x));
        assert!(!reduced(&[(4, 5), (4, 20)], &[(1, 0), (5, 1)], &x));
        assert!(reduced(&[(4, 20), (5, 1)], &[(1, 0), (4, 5)], &x));
        assert!(reduced(&[(1, 0), (5, 1)], &[(4, 20), (4, 5)], &x));
        assert!(!reduced(&[(1, 0), (5, 1)], &[(4, 5), (4, 20)], &x));
        // Which of two equal ones is reduced.
        assert!(reduced(&[(4, 5), (5, 1)], &[(1, 0), (4, 20)], &x));
    }

    /// Where the view has the stretched axis, its place counts.
    #[test]
    fn stretched_axes_have_a_place_where_the_view_shows_them() {
        assert!(same(&[(4, 0), (4, 1)], &[(4, 1)]));
        assert!(same(&[(4, 0), (4, 1)], &[(4, 0), (4, 1)]));
        assert!(!same(&[(4, 1), (4, 0)], &[(4, 0), (4, 1)]));
    }
}
