//! `ReduceMean`: the mean over axes.

use super::elementwise::NUMERIC;
use super::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// Σx/n over axes (ONNX ReduceMean); NaN over an empty set. Integers truncate; their mean of nothing is 0.
    ReduceMean reduce_mean, join Add, mean true, NUMERIC, Fill::Normal
}
