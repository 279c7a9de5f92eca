//! `ProdPool`: the product of the elements under a window.

use super::pool::pool;
use crate::ops::elementwise::FLOATS;
use crate::sample::{Fill, Sample};

pool! {
    /// The product of the elements under a window that slides over one to three spatial axes: x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads multiply nothing, and a window all of whose taps are outside gives 1; 16-bit floats
    /// are multiplied in f32.
    ProdPool prod_pool, FLOATS, Fill::Uniform(0.5, 1.75), more Vec::<Sample>::new(),
    grad crate::ops::Grad::No("products of windows have no rule")
}
