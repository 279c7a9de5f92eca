//! What several accesses over the same axes take together, and what their views show together.
//!
//! In: accesses of one iteration, the views of their uses. A view that is written has the extents of the result; every
//! other one is aligned to it at the last axis, and an axis of one element, or one that is missing, is stretched. So
//! each axis of the result has one stride in every view, and each axis of the iteration one in the accesses to every
//! operand. Both lists are the same once axes are merged that go on where others end in all of them: the order of axes
//! says nothing about an elementwise result.

use super::accesses::{Accesses, ViewElements};
use super::{Footprint, Subject, Together};
use crate::check::error::Fault;
use crate::check::numbers::Number;
use smallvec::SmallVec;

/// An axis: its extent, and its stride in the accesses to, or the view of, each operand.
type Axis<'i> = (Number<'i>, SmallVec<[Number<'i>; 8]>);

impl Subject<'_> {
    /// Elements that the views show at one place of the result are those that the kernel takes together: of a square,
    /// strides of two axes that were exchanged touch the same bytes.
    pub(super) fn together<'i>(
        &self,
        footprint: &Footprint<'i>,
        views: &[Option<ViewElements<'i>>],
    ) -> Result<(), Fault> {
        let mut all: Vec<(&Accesses<'i>, (bool, &ViewElements<'i>))> =
            Vec::with_capacity(footprint.accesses.len());
        for ((port, accesses), view) in footprint.accesses.iter().zip(views) {
            if let (true, Some(used), Some(view)) = (footprint.together.has(*port), self.used(*port), view) {
                all.push((accesses, (used.access.writes(), view)));
            }
        }
        if let Together::Slots(_) = footprint.together {
            let result = all.iter().filter(|(_, (written, _))| *written);
            let rank = result.map(|(_, (_, view))| view.axes().len()).max().unwrap_or(0);
            // Of a convolution a bias has channels alone: it is not aligned at the last axis.
            all.retain(|(_, (_, view))| view.axes().len() == rank || rank <= 2);
        }
        let (accesses, views): (Vec<&Accesses<'i>>, Vec<(bool, &ViewElements<'i>)>) = all.into_iter().unzip();
        match differ(&accesses, &views) {
            None => Ok(()),
            Some(why) => Err(Fault::Footprint { operand: "its slots together".to_owned(), why }),
        }
    }
}

/// How the accesses differ from the views, of which the written ones are marked.
fn differ<'i>(accesses: &[&Accesses<'i>], views: &[(bool, &ViewElements<'i>)]) -> Option<String> {
    let written = views.iter().filter(|(written, _)| *written).max_by_key(|(_, view)| view.axes().len());
    let (_, result) = written?;
    let extents: Vec<Number<'i>> = result.axes().iter().map(|a| a.0).collect();
    if extents.iter().any(|n| *n == 0) {
        return None;
    }
    let mut shown: Vec<Axis<'i>> = extents.iter().map(|&n| (n, SmallVec::new())).collect();
    for (_, view) in views {
        if let Err(why) = align(view, &mut shown) {
            return Some(why);
        }
    }
    let (shown, accessed) = (merged(shown), merged(iterated(accesses)));
    (shown != accessed).then(|| format!("the kernel takes {accessed:?}, the views show {shown:?}"))
}

/// Adds the strides of a view to the axes of the result.
fn align<'i>(view: &ViewElements<'i>, shown: &mut [Axis<'i>]) -> Result<(), String> {
    let missing = shown.len().checked_sub(view.axes().len()).ok_or("a view has more axes than the result")?;
    for (d, (extent, strides)) in shown.iter_mut().enumerate() {
        let axis = d.checked_sub(missing).map(|d| view.axes()[d]);
        strides.push(match axis {
            Some((n, stride)) if n == *extent => stride,
            None => 0.into(),
            Some((n, _)) if n == 1 => 0.into(),
            Some((n, _)) => return Err(format!("an axis of {n} elements beside one of {extent}")),
        });
    }
    Ok(())
}

/// The axes of the iteration, of which all accesses have the same.
fn iterated<'i>(accesses: &[&Accesses<'i>]) -> Vec<Axis<'i>> {
    let first = accesses.first().map_or(&[][..], |w| w.axes());
    let strides = |d: usize| accesses.iter().map(|w| w.axes().get(d).map_or(0.into(), |a| a.1)).collect();
    first.iter().enumerate().map(|(d, &(n, _))| (n, strides(d))).collect()
}

/// The axes of more than one element, merged as far as they go on one in another, in a fixed order.
fn merged(mut axes: Vec<Axis<'_>>) -> Vec<Axis<'_>> {
    axes.retain(|a| a.0 != 1);
    let goes_on = |(_, outer): &Axis<'_>, (n, inner): &Axis<'_>| {
        outer.iter().zip(inner).all(|(outer, inner)| *outer == *inner * *n)
    };
    loop {
        let pairs = (0..axes.len()).flat_map(|i| (0..axes.len()).map(move |j| (i, j)));
        let found = pairs.filter(|(i, j)| i != j).find(|&(i, j)| goes_on(&axes[i], &axes[j]));
        let Some((outer, inner)) = found else { break };
        axes[inner].0 = axes[inner].0 * axes[outer].0;
        axes.remove(outer);
    }
    axes.sort_unstable();
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Storage, View};
    use pumice_types::{Bindings, DType, DimExpr};

    fn view(shape: &[i64], strides: &[i64]) -> ViewElements<'static> {
        let dims = |v: &[i64]| v.iter().map(|&d| DimExpr::constant(d)).collect();
        let (shape, strides, offset) = (dims(shape), dims(strides), DimExpr::constant(0));
        let view = View { dtype: DType::F32, storage: Storage::Arena, shape, strides, offset };
        ViewElements::of(&view, &*Box::leak(Box::<Bindings>::default())).expect("constants")
    }

    /// y = x + w^T of squares: strides exchanged touch the same bytes, and another sum comes of it.
    #[test]
    fn strides_of_a_square_that_are_exchanged_differ() {
        let (by_rows, by_columns) = (view(&[4, 4], &[4, 1]), view(&[4, 4], &[1, 4]));
        let views = [(false, &by_rows), (false, &by_columns), (true, &by_rows)];
        let accesses = |a: i64, b: i64| Accesses::words().axis(4, a).axis(4, b);
        let (rows, columns) = (accesses(4, 1), accesses(1, 4));
        assert_eq!(differ(&[&rows, &columns, &rows], &views), None);
        // Another order of all axes is the same iteration.
        assert_eq!(differ(&[&columns, &rows, &columns], &views), None);
        assert!(differ(&[&rows, &rows, &rows], &views).is_some());
        assert!(differ(&[&columns, &columns, &rows], &views).is_some());
    }

    /// A row and a column beside a square.
    #[test]
    fn stretched_axes_are_those_of_the_view() {
        let square = view(&[4, 4], &[4, 1]);
        let accesses = |a: i64, b: i64| Accesses::words().axis(4, a).axis(4, b);
        let row = view(&[4], &[1]);
        let row = [(false, &row), (true, &square)];
        assert_eq!(differ(&[&accesses(0, 1), &accesses(4, 1)], &row), None);
        assert!(differ(&[&accesses(1, 0), &accesses(4, 1)], &row).is_some());
        let column = view(&[4, 1], &[1, 1]);
        let column = [(false, &column), (true, &square)];
        assert_eq!(differ(&[&accesses(1, 0), &accesses(4, 1)], &column), None);
        assert!(differ(&[&accesses(0, 1), &accesses(4, 1)], &column).is_some());
        let flat = Accesses::words().axis(16, 1);
        assert_eq!(differ(&[&flat, &flat], &[(false, &square), (true, &square)]), None);
    }
}
