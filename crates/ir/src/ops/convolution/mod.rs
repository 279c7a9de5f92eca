//! Convolution and pooling (OPS 3.5).

pub mod average_pool;
pub mod conv;
mod conv_samples;
pub mod conv_transpose;
mod conv_transpose_samples;
pub mod max_pool;
pub mod min_pool;
pub(crate) mod pool;
pub(crate) mod pool_samples;
pub mod sum_pool;
pub(crate) mod windows;
