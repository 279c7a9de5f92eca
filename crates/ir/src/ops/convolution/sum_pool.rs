//! `SumPool`: the sum of the elements under a window.

use super::pool::pool;
use crate::ops::elementwise::FLOATS;
use crate::sample::{Fill, Sample};

pool! {
    /// The sum of the elements under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads add nothing; 16-bit floats are added in f32.
    SumPool sum_pool, FLOATS, Fill::Normal, more Vec::<Sample>::new()
}
