//! `PoolPlaces`.

use super::pool::covered;
use super::walk::Volume;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::PoolPlaces;

impl Eval for PoolPlaces {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let windows = self.windows(shape.len() - 2).expect("inference has accepted the lists");
        let x = cx.arg(0).as_floats();
        let of_channel = Volume::of(&cx.arg(0).shape).spatial.into_iter().product::<usize>().max(1);
        let first = |best: Option<usize>, i: usize| match best {
            Some(b) if !wins(self, x[i], x[b]) => Some(b),
            _ => Some(i),
        };
        let place = |found: Option<usize>| found.map_or(-1, |i| (i % of_channel) as i64);
        let places = covered(cx, &windows).map(|at| place(at.fold(None, first)));
        vec![Array::ints(dtype, shape, places.collect())]
    }
    exact!();
}

/// Whether an element is taken in place of one before it: the first NaN stays.
fn wins(op: &PoolPlaces, v: f64, over: f64) -> bool {
    match op.smallest {
        _ if over.is_nan() => false,
        true => v < over || v.is_nan(),
        false => v > over || v.is_nan(),
    }
}
