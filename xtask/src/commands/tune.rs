//! `cargo xtask tune`: builds the tuning program for release and starts it. In: the program's own arguments. Out: a
//! selection table. Never here: a measurement.

use crate::checkout::Checkout;
use crate::child;
use crate::example::{self, Args};
use crate::failure::Outcome;

/// Builds and runs.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    child::run(example::built("tune", checkout)?.args(&args.arguments))
}
