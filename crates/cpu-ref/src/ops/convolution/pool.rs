//! What pools share: the elements under each window.

use super::walk::{Volume, taps_inside, under, windows};
use crate::array::{Array, Data};
use crate::eval::EvalCx;
use pumice_types::{DType, WindowAxis};

/// Offsets of the elements under each window, pads left out, in the order of the results. Nothing is collected: the
/// offsets of all windows may be many times the elements.
pub fn covered(
    cx: &EvalCx<'_>,
    axes: &[WindowAxis],
) -> impl Iterator<Item = impl Iterator<Item = usize> + use<>> + use<> {
    let (from, to) = (Volume::of(&cx.arg(0).shape), Volume::of(cx.out().1));
    let windows = windows(axes);
    to.elements().map(move |(b, c, position)| {
        let taps = taps_inside(&windows, position, from.spatial);
        taps.filter_map(move |tap| from.inside(b, c, under(&windows, position, tap)))
    })
}

/// One value from the elements under each window: floats and integers each from a first value.
pub fn folded(
    cx: &EvalCx<'_>,
    axes: &[WindowAxis],
    (float_start, float): (f64, impl Fn(f64, f64) -> f64),
    (int_start, int): (i64, impl Fn(i64, i64) -> i64),
) -> Vec<Array> {
    let (dtype, shape) = cx.out();
    let covered = covered(cx, axes);
    vec![match &cx.arg(0).data {
        Data::Float(v) => {
            let folds = covered.map(|at| at.fold(float_start, |acc, i| float(acc, v[i])));
            Array::floats(dtype, shape, folds.collect())
        }
        Data::Int(v) => {
            let folds = covered.map(|at| at.fold(int_start, |acc, i| int(acc, v[i])));
            Array::ints(dtype, shape, folds.collect())
        }
    }]
}

/// The lowest and the highest value of an integer dtype; U64 by its bits.
pub fn extremes(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::U64 => (0, -1),
        d if d.is_signed() => (i64::MIN >> (64 - d.bits()), i64::MAX >> (64 - d.bits())),
        d => (0, (1 << d.bits()) - 1),
    }
}
