//! `cargo xtask ci`: everything a change must pass. In: the checkout. Out: one line per step with its time;
//! the tests run last so that their summary closes the output. Never here: installing anything (`.ci/run`).

use std::process::Command;
use std::time::Instant;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

/// Options of `ci`.
#[derive(clap::Args)]
pub struct Args {
    /// Package uncommitted changes too
    #[arg(long)]
    allow_dirty: bool,
}

struct Step {
    name: String,
    command: Command,
}

/// Runs every step, even after one failed; fails if any did.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let mut failed = Vec::new();
    for mut step in early_steps(args) {
        if let Err(failure) = timed(&step.name, checkout, &mut step.command) {
            eprintln!("ci: {}: {failure}", step.name);
            failed.push(step.name);
        }
    }
    for name in &failed {
        eprintln!("ci: FAILED before the tests: {name}");
    }
    timed("test", checkout, &mut xtask(&["test", "--require-vulkan", "--require-model", "--profile", "ci"]))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::said(format!("the tests passed, but not: {}", failed.join(", "))))
}

fn timed(name: &str, checkout: &Checkout, command: &mut Command) -> Outcome {
    eprintln!("\n=== {name}");
    let start = Instant::now();
    let outcome = child::run(command.current_dir(&checkout.root));
    if name != "test" {
        eprintln!("=== {name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    outcome
}

fn early_steps(args: &Args) -> Vec<Step> {
    let mut package = xtask(&["package"]);
    if args.allow_dirty {
        package.arg("--allow-dirty");
    }
    let mut doc = cargo(&["doc", "--no-deps"], &[]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    // The suites run them, built with every feature; a user has what an example asks for.
    let mut examples = child::cargo();
    examples.args(["check", "--package", "pumice", "--examples"]);
    let clippy = cargo(&["clippy", "--all-targets"], &["--", "-D", "warnings"]);
    let mut format = child::cargo();
    format.args(["fmt", "--all", "--check"]);
    [
        ("rustfmt", format),
        ("tidy", xtask(&["tidy"])),
        ("ops", xtask(&["ops"])),
        ("clippy", clippy),
        ("doc", doc),
        ("examples as a user builds them", examples),
        ("the README's program", xtask(&["snippet"])),
        ("demo", xtask(&["demo"])),
        ("demo without a network", xtask(&["demo", "--seeded"])),
        ("package", package),
    ]
    .map(|(name, command)| Step { name: name.to_owned(), command })
    .into()
}

fn cargo(before: &[&str], after: &[&str]) -> Command {
    let mut command = child::cargo();
    command.args(before).args(["--workspace", "--exclude", "pumice-shader-build"]);
    command.args(super::test::WITH_LIBRARIES).args(after);
    command
}

fn xtask(args: &[&str]) -> Command {
    let mut command = child::cargo();
    command.args(["run", "--quiet", "--package", "xtask", "--"]).args(args);
    command
}
