//! Plans on the interpreter: op samples, random graphs, mutants.

mod harness;
mod mutants;
mod no_int64;
mod op_samples;
mod random;
mod residuals;
mod sessions;
