//! Evaluation: leaves of a program, states, and what stands for other nodes (OPS 2).

mod after;
mod barrier;
mod carry;
mod custom;
mod extent;
mod extent_of;
mod found_count;
pub mod fused;
pub mod identity;
mod if_;
pub mod kv_append;
pub mod leaf;
mod loop_;
pub mod state_read;
pub mod state_write;
pub mod stop_gradient;
