//! `SearchSorted`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{exact, int_lt};
use pumice_ir::ops::SearchSorted;

/// Whether a < b, where NaN is above infinity.
fn float_lt(a: f64, b: f64) -> bool {
    a < b || b.is_nan() && !a.is_nan()
}

/// Of each value, how many of the first elements are before it.
fn counts<T: Copy>(sorted: &[T], values: &[T], is_before: impl Fn(T, T) -> bool) -> Vec<i64> {
    values.iter().map(|&v| sorted.partition_point(|&s| is_before(s, v)) as i64).collect()
}

impl Eval for SearchSorted {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (sorted, values, (dtype, shape)) = (cx.arg(0), cx.arg(1), cx.out());
        let right = self.right;
        let y = match (&sorted.data, &values.data) {
            (Data::Float(s), Data::Float(v)) => {
                counts(s, v, |s, v| if right { !float_lt(v, s) } else { float_lt(s, v) })
            }
            _ => {
                let lt = |a, b| int_lt(sorted.dtype, a, b);
                counts(sorted.as_ints(), values.as_ints(), |s, v| if right { !lt(v, s) } else { lt(s, v) })
            }
        };
        vec![Array::ints(dtype, shape, y)]
    }
    exact!();
}
