//! Evaluation: normalisation (OPS 3.6).

pub mod layer_norm;
pub mod rms_norm;
