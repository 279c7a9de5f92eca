//! Evaluation: convolution and pooling (OPS 3.5).

pub mod average_pool;
pub mod conv;
pub mod conv_transpose;
pub mod max_pool;
pub mod min_pool;
pub mod non_max_suppression_parts;
mod pool;
pub mod pool_places;
pub mod pool_spread;
pub mod prod_pool;
pub mod resample;
pub mod sum_pool;
mod walk;
