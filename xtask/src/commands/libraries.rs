//! Commands that need pumice's packages, where they are not built in. In: this command line. Out: its outcome
//! from xtask built again with them. Never here: a command.

use std::process::Command;

use crate::checkout::Checkout;
use crate::child;
use crate::commands::test::{WITH_LIBRARIES, WORKSPACE};
use crate::failure::{Failure, Outcome};
use crate::heartbeat::Heartbeat;

/// Where this is set, xtask is built again as the suites are, which need that build anyway: `.ci/run` sets it.
const AS_SUITES: &str = "PUMICE_XTASK_AS_SUITES";

/// Builds xtask again, released and with the packages, and hands it this command line. Cargo says what it compiles.
pub fn start_again(checkout: &Checkout) -> Outcome {
    let (mut build, as_suites) = (child::cargo(), std::env::var_os(AS_SUITES).is_some());
    match as_suites {
        true => build.args(["build", "--bin", "xtask"]).args(WORKSPACE).args(WITH_LIBRARIES),
        false => build.args(["build", "--release", "--package", "xtask", "--features", "libraries"]),
    };
    let building = Heartbeat::start("building");
    child::run(build.current_dir(&checkout.root))?;
    drop(building);
    let folder = if as_suites { "debug" } else { "release" };
    let program = checkout.target_folder()?.join(folder).join("xtask");
    let mut command = Command::new(program.with_extension(std::env::consts::EXE_EXTENSION));
    command.args(std::env::args_os().skip(1));
    let status = command.status();
    let status = status.map_err(|source| Failure::Start { program: child::describe(&command), source })?;
    // The child has said what was wrong; its exit code is the whole message.
    if status.success() { Ok(()) } else { std::process::exit(status.code().unwrap_or(1)) }
}
