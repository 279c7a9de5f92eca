//! Signals (OPS 3.9).

pub mod fft;
mod folded;
pub mod log_mel;
pub mod mel_weight_matrix;
pub mod welch;
mod windows;
