//! Session suite (A7): what a user does with an executable and its sessions, on the interpreter and on the Vulkan
//! device alike. What a test expects is computed in plain Rust beside it, or by the evaluator; never by a session.
//!
//! Numbers are small multiples of an eighth wherever sums must be equal to the bit: then no order of summing rounds.

#[macro_use]
mod common;

mod branches;
mod callbacks;
mod feeds;
mod forks;
mod host_steps;
mod inputs;
mod inspect;
mod interrupted;
mod interrupts;
mod loop_states;
mod loops;
mod meanings;
mod merged;
mod observers;
mod outputs;
mod overlaps;
mod params;
mod poison;
mod reference;
mod refusals;
mod regression;
mod replays;
mod states;
mod status;
mod stops;
mod symbols;
mod threads;
mod unlike;
mod updates;
mod watched;
