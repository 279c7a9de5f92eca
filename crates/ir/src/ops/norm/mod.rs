//! Normalisation (OPS 3.6).

pub mod batch_norm;
pub mod batch_norm_training;
mod batch_rule;
pub(crate) mod channels;
pub mod group_norm;
pub mod instance_norm;
pub mod layer_norm;
mod layer_norm_2d;
pub mod lp_normalization;
pub mod mean_variance_normalization;
pub mod norm_grad;
pub mod norm_sums;
pub mod rms_norm;
pub(crate) mod rows_rule;
pub(crate) mod scales;
mod statistics;
