//! Harness of pumice's test suites: samples on any runner, compared with the evaluator.

pub mod compare;
pub mod op_suite;
