//! What several walks over the same axes take together, and what their views show together.
//!
//! In: walks of one iteration, the views of their uses. A view that is written has the extents of the result; every
//! other one is aligned to it at the last axis, and an axis of one element, or one that is missing, is stretched. So
//! each axis of the result has one stride in every view, and each axis of the iteration one in every walk. Both lists
//! are the same once axes are merged that go on where others end in all of them: the order of axes says nothing about
//! an elementwise result.

use super::walk::{Seen, Walk};
use super::{Reach, Subject, Together};
use crate::check::error::Fault;
use smallvec::SmallVec;

/// An axis: its extent, and its stride in each of the walks or views.
type Axis = (u64, SmallVec<[i64; 8]>);

impl Subject<'_> {
    /// Elements that the views show at one place of the result are those that the kernel takes together: of a square,
    /// strides of two axes that were exchanged touch the same bytes.
    pub(super) fn together(&self, reach: &Reach, seen: &[Option<Seen>]) -> Result<(), Fault> {
        let mut all: Vec<(&Walk, (bool, &Seen))> = Vec::with_capacity(reach.walks.len());
        for ((port, walk), view) in reach.walks.iter().zip(seen) {
            if let (true, Some(used), Some(view)) = (reach.together.has(*port), self.used(*port), view) {
                all.push((walk, (used.access.writes(), view)));
            }
        }
        if let Together::Slots(_) = reach.together {
            let result = all.iter().filter(|(_, (written, _))| *written);
            let rank = result.map(|(_, (_, view))| view.axes().len()).max().unwrap_or(0);
            // Of a convolution a bias has channels alone: it is not aligned at the last axis.
            all.retain(|(_, (_, view))| view.axes().len() == rank || rank <= 2);
        }
        let (walks, views): (Vec<&Walk>, Vec<(bool, &Seen)>) = all.into_iter().unzip();
        match differ(&walks, &views) {
            None => Ok(()),
            Some(why) => Err(Fault::Reach { operand: "its slots together".to_owned(), why }),
        }
    }
}

/// How the walks differ from the views, of which the written ones are marked.
fn differ(walks: &[&Walk], seen: &[(bool, &Seen)]) -> Option<String> {
    let written = seen.iter().filter(|(written, _)| *written).max_by_key(|(_, view)| view.axes().len());
    let (_, result) = written?;
    let extents: Vec<u64> = result.axes().iter().map(|a| a.0).collect();
    if extents.contains(&0) {
        return None;
    }
    let mut shown: Vec<Axis> = extents.iter().map(|&n| (n, SmallVec::new())).collect();
    for (_, view) in seen {
        if let Err(why) = align(view, &mut shown) {
            return Some(why);
        }
    }
    let (shown, walked) = (merged(shown), merged(iterated(walks)));
    (shown != walked).then(|| format!("the kernel takes {walked:?}, the views show {shown:?}"))
}

/// Adds the strides of a view to the axes of the result.
fn align(view: &Seen, shown: &mut [Axis]) -> Result<(), String> {
    let missing = shown.len().checked_sub(view.axes().len()).ok_or("a view has more axes than the result")?;
    for (d, (extent, strides)) in shown.iter_mut().enumerate() {
        let axis = d.checked_sub(missing).map(|d| view.axes()[d]);
        strides.push(match axis {
            Some((n, stride)) if n == *extent => stride,
            None | Some((1, _)) => 0,
            Some((n, _)) => return Err(format!("an axis of {n} elements beside one of {extent}")),
        });
    }
    Ok(())
}

/// The axes of the iteration, of which all walks have the same.
fn iterated(walks: &[&Walk]) -> Vec<Axis> {
    let first = walks.first().map_or(&[][..], |w| w.axes());
    let strides = |d: usize| walks.iter().map(|w| w.axes().get(d).map_or(0, |a| a.1)).collect();
    first.iter().enumerate().map(|(d, &(n, _))| (n, strides(d))).collect()
}

/// The axes of more than one element, merged as far as they go on one in another, in a fixed order.
fn merged(mut axes: Vec<Axis>) -> Vec<Axis> {
    axes.retain(|a| a.0 != 1);
    let goes_on = |(_, outer): &Axis, (n, inner): &Axis| {
        let next = |stride: i64| i128::from(stride) * i128::from(*n);
        outer.iter().zip(inner).all(|(outer, inner)| i128::from(*outer) == next(*inner))
    };
    loop {
        let pairs = (0..axes.len()).flat_map(|i| (0..axes.len()).map(move |j| (i, j)));
        let found = pairs.filter(|(i, j)| i != j).find(|&(i, j)| goes_on(&axes[i], &axes[j]));
        let Some((outer, inner)) = found else { break };
        axes[inner].0 = axes[inner].0.saturating_mul(axes[outer].0);
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

    fn seen(shape: &[i64], strides: &[i64]) -> Seen {
        let dims = |v: &[i64]| v.iter().map(|&d| DimExpr::constant(d)).collect();
        let (shape, strides, offset) = (dims(shape), dims(strides), DimExpr::constant(0));
        let view = View { dtype: DType::F32, storage: Storage::Arena, shape, strides, offset };
        Seen::of(&view, &Bindings::new()).expect("constants")
    }

    /// y = x + w^T of squares: strides exchanged touch the same bytes, and another sum comes of it.
    #[test]
    fn strides_of_a_square_that_are_exchanged_differ() {
        let (by_rows, by_columns) = (seen(&[4, 4], &[4, 1]), seen(&[4, 4], &[1, 4]));
        let views = [(false, &by_rows), (false, &by_columns), (true, &by_rows)];
        let walk = |a: i64, b: i64| Walk::words().axis(4, a).axis(4, b);
        let (rows, columns) = (walk(4, 1), walk(1, 4));
        assert_eq!(differ(&[&rows, &columns, &rows], &views), None);
        // Another order of all axes is the same iteration.
        assert_eq!(differ(&[&columns, &rows, &columns], &views), None);
        assert!(differ(&[&rows, &rows, &rows], &views).is_some());
        assert!(differ(&[&columns, &columns, &rows], &views).is_some());
    }

    /// A row and a column beside a square.
    #[test]
    fn stretched_axes_are_those_of_the_view() {
        let square = seen(&[4, 4], &[4, 1]);
        let walk = |a: i64, b: i64| Walk::words().axis(4, a).axis(4, b);
        let row = seen(&[4], &[1]);
        let row = [(false, &row), (true, &square)];
        assert_eq!(differ(&[&walk(0, 1), &walk(4, 1)], &row), None);
        assert!(differ(&[&walk(1, 0), &walk(4, 1)], &row).is_some());
        let column = seen(&[4, 1], &[1, 1]);
        let column = [(false, &column), (true, &square)];
        assert_eq!(differ(&[&walk(1, 0), &walk(4, 1)], &column), None);
        assert!(differ(&[&walk(0, 1), &walk(4, 1)], &column).is_some());
        let flat = Walk::words().axis(16, 1);
        assert_eq!(differ(&[&flat, &flat], &[(false, &square), (true, &square)]), None);
    }
}
