//! Evaluation: normalisation (OPS 3.6).

pub mod batch_norm;
pub mod batch_norm_training;
pub mod group_norm;
pub mod instance_norm;
pub mod layer_norm;
pub mod rms_norm;
