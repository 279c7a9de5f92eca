//! pumice's developer tools: `cargo xtask <command>`. In: the command line. Out: an exit code. Never here:
//! what a command does; each has its own file under `commands/`.

#[cfg(test)]
mod additions;
mod builder_methods;
mod checkout;
mod child;
mod commands;
mod drivers;
mod edit;
mod example;
mod example_help;
mod failure;
mod heartbeat;
#[cfg(feature = "libraries")]
mod model;
mod native;
#[cfg(test)]
mod op_files;
mod op_names;
mod op_table;
mod output;
#[cfg(feature = "libraries")]
mod plans;
/// The facade's own: xtask knows no package of pumice while one may not compile.
#[path = "../../crates/pumice/src/save.rs"]
mod save;
mod templates;
mod tidy;
mod tokens;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure::Failure::Reported) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
