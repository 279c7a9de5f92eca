//! Leaves of a program, states, and what stands for other nodes (OPS 2).

mod call;
pub mod carry;
mod collecting;
pub(in crate::ops) mod condition;
pub mod constant;
mod counted;
pub mod custom;
pub mod extent;
pub mod extent_of;
pub mod found_count;
pub mod fused;
pub mod identity;
pub mod if_;
pub mod input;
pub mod kv_append;
pub mod loop_;
mod loop_bodies;
mod loop_states;
pub mod param;
pub mod scalar;
pub mod scan;
pub mod state;
pub mod state_read;
pub mod state_write;
pub mod stop_gradient;
mod turns;
