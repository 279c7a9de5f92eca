//! Evaluation: normalisation (OPS 3.6).

pub mod batch_norm;
pub mod batch_norm_training;
pub mod group_norm;
pub mod instance_norm;
pub mod layer_norm;
pub mod lp_normalization;
pub mod mean_variance_normalization;
pub mod norm_grad;
pub mod norm_sums;
pub mod rms_norm;
