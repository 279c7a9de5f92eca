//! `ReduceSum`: the sum over axes.

use super::elementwise::NUMERIC;
use super::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// Σx over axes (ONNX ReduceSum); 0 over an empty set.
    ReduceSum reduce_sum, join Add, mean false, NUMERIC, Fill::Normal
}
