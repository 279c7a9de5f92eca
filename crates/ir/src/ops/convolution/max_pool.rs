//! `MaxPool`: the largest element under a window.

use super::pool::pool;
use crate::ops::elementwise::NUMERIC;
use crate::sample::{Fill, Sample};

pool! {
    /// The largest element under a window that slides over one to three spatial axes (ONNX MaxPool, its first result):
    /// x\[B, C, spatial…\] → \[B, C, positions…\]. Pads are not looked at; NaN wins. A window all of whose taps are
    /// outside, which dilation and empty axes allow, gives −Inf or the lowest integer.
    MaxPool max_pool, NUMERIC, Fill::Special, more Vec::<Sample>::new()
}
