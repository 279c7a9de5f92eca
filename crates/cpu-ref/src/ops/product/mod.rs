//! Evaluation: matrix products (OPS 3.4).

pub mod dequantize_linear;
pub mod expert_rows;
pub mod grouped_matmul;
pub mod linear;
pub mod matmul;
