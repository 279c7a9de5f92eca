//! Plans on the interpreter: op samples, random graphs, mutants.

mod harness;
mod op_samples;
mod random;
mod sessions;
