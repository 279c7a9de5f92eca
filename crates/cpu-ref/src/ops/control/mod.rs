//! Evaluation: leaves of a program, states, and what stands for other nodes (OPS 2).

mod custom;
mod extent;
pub mod fused;
pub mod identity;
pub mod kv_append;
pub mod leaf;
pub mod state_read;
pub mod state_write;
pub mod stop_gradient;
