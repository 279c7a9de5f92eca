//! `Transpose`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Transpose;

impl Eval for Transpose {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let perm = self.permutation(x.shape.len()).expect("inference has accepted the permutation");
        let own = strides(&x.shape);
        let walk: Vec<i64> = perm.into_iter().map(|p| own[p]).collect();
        let (_, shape) = cx.out();
        let from = offsets(shape, &walk, 0);
        vec![x.gathered(shape, |i| from[i])]
    }
    exact!();
}
