//! `cargo xtask tune`: builds the tuning program for release and starts it. In: the program's own arguments. Out: a
//! selection table. Never here: a measurement.

use std::ffi::OsString;
use std::process::Command;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::Outcome;

const PROGRAM: &str = "tune";

/// Options: all of them go to the program; `cargo xtask tune --help` prints them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of the tuning program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// Builds and runs. Paths in the arguments are relative to the current folder.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let mut build = child::cargo();
    build.args(["build", "--release", "--package", "pumice-tests", "--example", PROGRAM]);
    child::run(build.current_dir(&checkout.root))?;
    let folder = checkout.target_folder()?.join("release").join("examples");
    let program = folder.join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION);
    child::run(Command::new(program).args(&args.arguments))
}
