//! Evaluation: matrix products (OPS 3.4).

pub mod dequantize_linear;
pub mod linear;
pub mod matmul;
