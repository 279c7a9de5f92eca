//! `MinPool`: the smallest element under a window.

use super::pool::pool;
use crate::ops::elementwise::NUMERIC;
use crate::sample::{Fill, Sample};

pool! {
    /// The smallest element under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads are not looked at; NaN wins. A window all of whose taps are outside, which dilation
    /// and empty axes allow, gives +Inf or the highest integer.
    MinPool min_pool, NUMERIC, Fill::Special, more Vec::<Sample>::new()
}
