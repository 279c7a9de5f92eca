//! Matrix products (OPS 3.4).

pub mod linear;
pub mod matmul;
pub mod rounding;
