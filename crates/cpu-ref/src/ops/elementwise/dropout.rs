//! `Dropout`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::random::philox::places;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Dropout;
use pumice_types::DType;
use pumice_types::philox::Philox;

impl Eval for Dropout {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        if !self.training {
            return vec![x.clone(), Array::ints(DType::Bool, &x.shape, vec![1; x.len()])];
        }
        let stays = |(row, i): &(Philox, u64)| row.uniform(*i) >= f64::from(self.ratio);
        let mask: Vec<bool> = places(cx, 1, self.stream, &x.shape).iter().map(stays).collect();
        let kept = 1.0 - f64::from(self.ratio);
        let y = x.as_floats().iter().zip(&mask).map(|(&v, &stays)| if stays { v / kept } else { 0.0 });
        let y = Array::floats(x.dtype, &x.shape, y.collect());
        vec![y, Array::ints(DType::Bool, &x.shape, mask.into_iter().map(i64::from).collect())]
    }

    /// The divisor is multiplied with, rounded.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let scales = self.training && cx.result == 0;
        if scales { Tolerance::ulps(cx.out().0, 2.5) } else { Tolerance::Exact }
    }
}
