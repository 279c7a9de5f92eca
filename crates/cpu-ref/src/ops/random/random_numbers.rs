//! `RandomNumbers`.

use super::philox::places;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::RandomNumbers;
use pumice_ir::ops::random_numbers::RandomKind;
use pumice_types::DType;

impl Eval for RandomNumbers {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let numbers = places(cx, 0, self.stream, shape);
        let numbers = numbers.iter();
        vec![match self.kind {
            RandomKind::Words => Array::ints(dtype, shape, numbers.map(|(r, i)| r.word(*i).into()).collect()),
            RandomKind::Uniform => Array::floats(dtype, shape, numbers.map(|(r, i)| r.uniform(*i)).collect()),
            RandomKind::Normal => Array::floats(dtype, shape, numbers.map(|(r, i)| r.normal(*i)).collect()),
        }]
    }

    /// Words, and parts of 1, are exact. Of normal numbers the logarithm, its root and the sine are each within two
    /// units or three.
    fn tolerance(&self, _cx: &EvalCx<'_>) -> Tolerance {
        match self.kind {
            RandomKind::Normal => Tolerance::ulps_or(DType::F32, 8.0, 1e-10),
            _ => Tolerance::Exact,
        }
    }
}
