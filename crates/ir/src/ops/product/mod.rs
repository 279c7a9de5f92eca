//! Matrix products (OPS 3.4).

pub mod dequantize_linear;
mod dequantize_linear_samples;
pub mod linear;
pub mod matmul;
pub mod rounding;
