//! `ReduceMean`: the mean over axes.

use crate::ops::elementwise::NUMERIC;
use crate::ops::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// Σx/n over axes (ONNX ReduceMean); NaN over an empty set. Integers truncate; their mean of nothing is 0.
    ReduceMean reduce_mean, join Add, mean true, NUMERIC, Fill::Normal
}
