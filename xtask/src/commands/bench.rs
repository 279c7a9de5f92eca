//! `cargo xtask bench`.

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};

/// Options.
#[derive(clap::Args)]
pub struct Args {}

/// Runs.
pub fn run(_args: &Args, _checkout: &Checkout) -> Outcome {
    Err(Failure::said("not there yet"))
}
