//! Harness of pumice's test suites: what the suites under `tests/` and the tools under `examples/` have in common.
//!
//! Everything here runs on any device of the runtime; a suite says on which. Nothing here is shipped.

pub mod curves;
pub mod device;
pub mod draws;
pub mod files;
pub mod fixture;
pub mod frame_mutants;
pub mod goldens;
pub mod graphs;
pub mod growth;
pub mod known;
pub mod logits;
pub mod memory;
pub mod op_suite;
pub mod planted;
pub mod resnet;
pub mod share;
pub mod spirv;

pub use fixture::Fixture;
