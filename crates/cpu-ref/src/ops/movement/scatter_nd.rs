//! `ScatterNd`.

use super::gather_nd::linear;
use super::scatter::{Places, Scattered};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::count;
use crate::tolerance::Tolerance;
use pumice_ir::ops::ScatterNd;

impl Eval for ScatterNd {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        Scattered::new(cx, self.reduction, places(cx)).eval(cx)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Scattered::new(cx, self.reduction, places(cx)).tolerance(cx)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        Scattered::new(cx, self.reduction, places(cx)).magnitude()
    }
}

fn places(cx: &EvalCx<'_>) -> Places {
    let (data, indices) = (cx.arg(0), cx.arg(1));
    // Where there is no element nothing is written.
    if data.is_empty() {
        return Vec::new();
    }
    let k = indices.shape[indices.shape.len() - 1] as usize;
    let (axes, slice) = data.shape.split_at(k);
    let slice = count(slice);
    let mut places = Vec::new();
    for (t, tuple) in indices.as_ints().chunks(k).enumerate() {
        let at = linear(cx, tuple, axes, t * k);
        places.extend((0..slice).map(|c| at.map(|at| at * slice + c)));
    }
    places
}
