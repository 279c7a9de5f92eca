//! Normalisation (OPS 3.6).

pub mod batch_norm;
pub mod layer_norm;
pub mod rms_norm;
pub(crate) mod scales;
