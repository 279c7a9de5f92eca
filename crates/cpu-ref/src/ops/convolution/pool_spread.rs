//! `PoolSpread`.

use super::walk::{Each, Volume, taps_before, taps_inside, under, windows};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::PoolSpread;
use pumice_types::WindowAxis;

impl Eval for PoolSpread {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, spread(self, cx, |v| v))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let axes = self.windows(cx.out().1.len() - 2).expect("inference has accepted the lists");
        let over = |(w, &o): (&WindowAxis, &u64)| w.reach().div_ceil(w.stride).min(o);
        let counts = axes.iter().zip(&cx.arg(0).shape[2..]).map(over);
        Tolerance::sum(cx.out().0, counts.fold(1, u64::saturating_mul))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        spread(self, cx, f64::abs)
    }
}

/// f of the value of every window over its divisor, added to the elements that it goes to, unrounded.
fn spread(op: &PoolSpread, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let (from, to) = (Volume::of(&cx.arg(0).shape), Volume::of(cx.out().1));
    let windows = windows(&op.windows(cx.out().1.len() - 2).expect("inference has accepted the lists"));
    let (v, places) = (cx.arg(0).as_floats(), cx.opt(1).map(Array::as_ints));
    let mut sums = vec![0.0; cx.out().1.iter().product::<u64>() as usize];
    for (q, (b, c, position)) in from.elements().enumerate() {
        let share = f(v[q]) / divisor(op, &windows, position, to.spatial);
        let first = to.at(b, c, [0; 3]);
        let under = elements_under(&windows, position, to.spatial).map(|at| to.at(b, c, at));
        for n in under.filter(|n| places.is_none_or(|places| places[q] == (n - first) as i64)) {
            sums[n] += share;
        }
    }
    sums
}

/// The elements under the taps of a window, where there are any.
fn elements_under(
    windows: &Each<WindowAxis>,
    position: Each<usize>,
    extents: Each<usize>,
) -> impl Iterator<Item = Each<usize>> {
    taps_inside(windows, position, extents)
        .map(move |tap| under(windows, position, tap).map(|at| at as usize))
}

/// By what the value of a window is divided. The taps that lie in the padded extents count with pads: those of a last
/// window may lie after them.
fn divisor(op: &PoolSpread, windows: &Each<WindowAxis>, position: Each<usize>, extents: Each<usize>) -> f64 {
    let before = |i: usize| taps_before(&windows[i], position[i], extents[i] as u64 + windows[i].end);
    match (op.mean, op.count_include_pad) {
        (false, _) => 1.0,
        (true, false) => taps_inside(windows, position, extents).count() as f64,
        (true, true) => (0..3).map(before).fold(1, usize::saturating_mul) as f64,
    }
}
