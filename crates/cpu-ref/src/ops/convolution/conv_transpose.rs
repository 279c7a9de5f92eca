//! `ConvTranspose`, gathered: each element of the result adds up what windows lay on it.

use super::conv::with_rounding;
use super::walk::{Each, Volume, begins, taps, windows};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ConvTranspose;
use pumice_types::{DimExpr, WindowAxis};

impl Eval for ConvTranspose {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, sums(self, cx, |v| v))]
    }

    /// A sum over the channels of a group and at most all taps, and the bias.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let (w, groups) = (&cx.arg(1).shape, self.groups);
        let terms = w[0] / groups * w[2..].iter().product::<u64>();
        Tolerance::sum(cx.out().0, terms + 1)
    }

    /// Σ|term| with the bias as one term; a 16-bit sum may be rounded before the bias is added.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        with_rounding(cx, sums(self, cx, |v| v), sums(self, cx, f64::abs))
    }
}

/// f(bias) + Σ f(x)·f(w) for every element of the result, unrounded. Outside x is 0.
fn sums(op: &ConvTranspose, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let (x, w) = (cx.arg(0).as_floats(), cx.arg(1).as_floats());
    let bias = cx.opt(2).map(Array::as_floats);
    let (from, weights) = (Volume::of(&cx.arg(0).shape), Volume::of(&cx.arg(1).shape));
    let to = Volume::of(cx.out().1);
    let sources = Sources::of(op, cx);
    let of_group = from.channels / op.groups as usize;
    let sum = |(b, o, position)| {
        let (group, o_in_group) = (o / weights.channels, o % weights.channels);
        let mut sum = bias.map_or(0.0, |bias| f(bias[o]));
        for c in group * of_group..(group + 1) * of_group {
            for tap in taps(&sources.windows) {
                let Some(place) = sources.at(position, tap) else { continue };
                let at = from.inside(b, c, place);
                sum += f(at.map_or(0.0, |at| x[at])) * f(w[weights.at(c, o_in_group, tap)]);
            }
        }
        sum
    };
    to.elements().map(sum).collect()
}

/// Which elements the taps of the windows bring to the positions of the result.
struct Sources {
    windows: Each<WindowAxis>,
    /// How much of the beginning of each axis is left out.
    begin: Each<u64>,
}

impl Sources {
    fn of(op: &ConvTranspose, cx: &EvalCx<'_>) -> Sources {
        let extents: Vec<DimExpr> = cx.arg(0).shape[2..].iter().map(|&n| DimExpr::from(n)).collect();
        let axes = op.axes(&cx.arg(1).shape[2..], &extents).expect("inference has accepted the lists");
        Sources {
            windows: windows(&axes.iter().map(|axis| axis.window).collect::<Vec<_>>()),
            begin: begins(axes.iter().map(|axis| axis.begin.as_extent().expect("extents are numbers"))),
        }
    }

    /// The element that a tap brings to a position, if the strides leave no remainder; it may be outside.
    fn at(&self, position: Each<usize>, tap: Each<usize>) -> Option<Each<i64>> {
        let mut place = [0; 3];
        for (i, window) in self.windows.iter().enumerate() {
            let (stride, dilation) = (i128::from(window.stride), i128::from(window.dilation));
            let spread = position[i] as i128 + i128::from(self.begin[i]) - tap[i] as i128 * dilation;
            if spread.rem_euclid(stride) != 0 {
                return None;
            }
            place[i] = i64::try_from(spread.div_euclid(stride)).unwrap_or(i64::MAX);
        }
        Some(place)
    }
}
