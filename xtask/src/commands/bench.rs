//! `cargo xtask bench`: builds the bench program for release and starts it. In: the program's own arguments. Out: its
//! table and its JSON. Never here: a case, a bar, a clock.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

const PROGRAM: &str = "bench";

/// Options: all of them go to the program; `cargo xtask bench --help` prints them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of the bench program
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
    let mut bench = Command::new(&program);
    if let Some(commit) = commit(&checkout.root) {
        bench.args(["--commit", &commit]);
    }
    child::run(bench.args(&args.arguments)).map_err(|failure| match failure {
        Failure::Child { .. } => Failure::said("a case could not be measured; see above"),
        other => other,
    })
}

/// The commit of the checkout, with a `+` where files differ from it; none without git.
fn commit(root: &Path) -> Option<String> {
    let git = |args: &[&str]| child::stdout(Command::new("git").arg("-C").arg(root).args(args)).ok();
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    let changed = git(&["status", "--porcelain"]).is_some_and(|text| !text.trim().is_empty());
    Some(if changed { hash + "+" } else { hash })
}
