//! Signals (OPS 3.9).

pub mod fft;
pub mod fft_chirp;
mod fft_grad;
mod fft_parts;
pub mod fft_pass;
mod folded;
pub mod log_mel;
pub mod mel_weight_matrix;
pub mod stft;
pub mod welch;
mod windows;
