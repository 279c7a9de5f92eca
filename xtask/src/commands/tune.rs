//! `cargo xtask tune`: builds the tuning program for release and starts it. In: the program's own arguments. Out: a
//! selection table. Never here: a measurement.

use crate::checkout::Checkout;
use crate::child;
use crate::example::{self, Args};
use crate::failure::Outcome;
use crate::{example_help, output};

/// Builds and runs.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    if args.asks_for_help() {
        return output::say(&example_help::text("tune", checkout)?);
    }
    child::run(example::built("tune", checkout)?.args(&args.arguments))
}
