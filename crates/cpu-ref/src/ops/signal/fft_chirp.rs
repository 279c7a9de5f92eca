//! `FftChirp`, by its formula; squares are exact.

use super::fft::root;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::FftChirp;

impl Eval for FftChirp {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let (n, extent) = (self.length as u64, self.extent as u64);
        let number = |j: u64| {
            let d = if self.wrapped { j.min(extent - j) } else { j };
            match self.wrapped && d >= n {
                true => (0.0, 0.0),
                false => root(d * d % (2 * n), 2 * n, self.inverse),
            }
        };
        vec![Array::floats(dtype, shape, (0..extent).map(number).flat_map(|z| [z.0, z.1]).collect())]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 4.0)
    }
}
