//! Child processes. In: a prepared `Command`. Out: its success, or its output. Never here: which program to
//! run and why.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::failure::{Failure, Outcome};

/// Program and arguments as one would type them.
pub fn describe(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|a| a.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs to the end with inherited output; an error exit is a failure.
pub fn run(command: &mut Command) -> Outcome {
    let shown = describe(command);
    eprintln!("$ {shown}");
    let status = command.status().map_err(|source| Failure::Start { program: shown.clone(), source })?;
    if status.success() { Ok(()) } else { Err(Failure::Child { program: shown, status: status.to_string() }) }
}

/// Runs to the end and hands back everything it wrote, whatever the exit status.
pub fn output(command: &mut Command) -> Outcome<Output> {
    let program = describe(command);
    command.stdin(Stdio::null()).output().map_err(|source| Failure::Start { program, source })
}

/// Runs to the end and hands back what it wrote to standard output; an error exit is a failure that quotes
/// the last line of standard error.
pub fn stdout(command: &mut Command) -> Outcome<String> {
    let program = describe(command);
    let out = output(command)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(Failure::Child { program, status: format!("{} ({last})", out.status) })
}

/// Whether the program answers `--version`.
pub fn answers(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Cargo's own folder: `CARGO_HOME`, else `.cargo` in the home folder.
pub fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// The cargo that started this program, else the one on PATH.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
