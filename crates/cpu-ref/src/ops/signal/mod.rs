//! Evaluation: signals (OPS 3.9).

pub mod fft;
pub mod fft_chirp;
pub mod fft_pass;
