//! Matrix products (OPS 3.4).

pub mod dequantize_linear;
mod dequantize_linear_samples;
pub mod dot_general;
pub mod expert_rows;
pub mod gemm;
pub mod grouped_matmul;
mod grouped_matmul_samples;
pub mod linear;
pub mod lora_matmul;
pub mod matmul;
pub mod rounding;
