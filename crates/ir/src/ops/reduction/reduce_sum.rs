//! `ReduceSum`: the sum over axes.

use crate::ops::elementwise::NUMERIC;
use crate::ops::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// Σx over axes (ONNX ReduceSum); 0 over an empty set.
    ReduceSum reduce_sum, join Add, mean false, NUMERIC, Fill::Normal
}
