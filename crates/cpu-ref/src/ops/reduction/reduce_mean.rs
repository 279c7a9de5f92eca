//! `ReduceMean`.

use super::reduce::groups;
use crate::array::{Array, Data, wrap};
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ReduceMean;
use pumice_types::DType;

impl Eval for ReduceMean {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let groups = groups(x, &self.axes, self.noop_with_empty_axes);
        let n = groups.steps.len();
        let (dtype, shape) = cx.out();
        vec![match &x.data {
            Data::Float(v) => {
                let sums = groups.fold(v, 0.0, |a, x| a + x);
                Array::floats(dtype, shape, sums.into_iter().map(|s| s / n as f64).collect())
            }
            Data::Int(v) => {
                let sums = groups.fold_int(v, 0, |a, x| a.wrapping_add(x));
                Array::ints(
                    dtype,
                    shape,
                    sums.into_iter().map(|s| int_mean(dtype, wrap(dtype, s), n)).collect(),
                )
            }
        }]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let x = cx.arg(0);
        Tolerance::sum(x.dtype, groups(x, &self.axes, self.noop_with_empty_axes).steps.len() as u64)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let x = cx.arg(0);
        let groups = groups(x, &self.axes, self.noop_with_empty_axes);
        let n = groups.steps.len() as f64;
        groups.fold(x.as_floats(), 0.0, |a, x| a + x.abs() / n)
    }
}

/// The sum, wrapped to the dtype, divided toward zero; 0 for no elements.
fn int_mean(dtype: DType, sum: i64, n: usize) -> i64 {
    match n {
        0 => 0,
        n if dtype == DType::U64 => (sum as u64 / n as u64) as i64,
        n => sum / n as i64,
    }
}
