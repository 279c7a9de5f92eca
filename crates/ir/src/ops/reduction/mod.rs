//! Reductions over axes (OPS 3.3).

mod arg;
pub mod arg_max;
pub mod arg_min;
mod composed;
mod logarithms;
mod norms;
pub mod reduce;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
mod truth;
mod variance;
