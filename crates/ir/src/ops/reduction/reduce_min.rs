//! `ReduceMin`: the smallest over axes.

use crate::ops::elementwise::ORDERED;
use crate::ops::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// The smallest x over axes (ONNX ReduceMin), NaN if there is one; +Inf, the highest integer or true over an empty set.
    ReduceMin reduce_min, join Min, mean false, ORDERED, Fill::Special
}
