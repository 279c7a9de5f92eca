//! Commands that need pumice's packages, where they are not built in. In: this command line. Out: its outcome
//! from xtask built again with them. Never here: a command.

use std::io::IsTerminal;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

/// Builds xtask again, released and with the packages, and hands it this command line.
pub fn start_again(checkout: &Checkout) -> Outcome {
    let mut command = child::cargo();
    command.args(["run", "--release", "--package", "xtask", "--features", "libraries"]);
    command.arg("--manifest-path").arg(checkout.root.join("Cargo.toml"));
    if !std::io::stderr().is_terminal() {
        command.arg("--quiet");
    }
    command.arg("--").args(std::env::args_os().skip(1));
    let status = command.status().map_err(|source| Failure::Start { program: "cargo".to_owned(), source })?;
    // The child has said what was wrong; its exit code is the whole message.
    if status.success() { Ok(()) } else { std::process::exit(status.code().unwrap_or(1)) }
}
