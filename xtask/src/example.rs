//! Programs under `tests/examples`: built for release, started with arguments of their own. In: the program's name.
//! Out: a command. Never here: what it does.

use std::ffi::OsString;
use std::process::Command;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::Outcome;

/// Options: all of them go to the program, but for `--help`, which is answered from its source: building takes minutes.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub arguments: Vec<OsString>,
}

impl Args {
    /// Whether only the options are asked for.
    pub fn asks_for_help(&self) -> bool {
        self.arguments.iter().any(|word| word == "--help" || word == "-h")
    }
}

/// Builds a program; the command starts it without arguments. Paths are relative to the current folder.
pub fn built(name: &str, checkout: &Checkout) -> Outcome<Command> {
    let mut build = child::cargo();
    build.args(["build", "--release", "--package", "pumice-tests", "--example", name]);
    child::run(build.current_dir(&checkout.root))?;
    let folder = checkout.target_folder()?.join("release").join("examples");
    Ok(Command::new(folder.join(name).with_extension(std::env::consts::EXE_EXTENSION)))
}
