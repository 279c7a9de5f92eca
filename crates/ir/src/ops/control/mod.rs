//! Leaves of a program, states, and what stands for other nodes (OPS 2).

pub mod constant;
pub mod custom;
pub mod extent;
pub mod fused;
pub mod identity;
pub mod input;
pub mod kv_append;
pub mod param;
pub mod scalar;
pub mod state;
pub mod state_read;
pub mod state_write;
pub mod stop_gradient;
