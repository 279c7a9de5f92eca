//! Signals (OPS 3.9).

pub mod fft;
