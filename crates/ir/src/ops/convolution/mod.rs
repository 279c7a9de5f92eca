//! Convolution and pooling (OPS 3.5).

pub mod adaptive_average_pool;
pub mod average_pool;
pub mod causal_conv_with_state;
pub mod conv;
mod conv_samples;
pub mod conv_transpose;
mod conv_transpose_samples;
pub mod im2col;
pub mod lp_pool;
pub mod max_pool;
mod max_pool_indices;
pub mod min_pool;
pub mod non_max_suppression;
pub mod non_max_suppression_parts;
mod places;
pub(crate) mod pool;
pub(crate) mod pool_samples;
pub mod prod_pool;
pub mod resample;
pub mod resize;
mod resize_axis;
pub mod sum_pool;
mod upsample;
pub(crate) mod windows;
