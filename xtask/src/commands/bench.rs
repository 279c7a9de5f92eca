//! `cargo xtask bench`: builds the bench program for release and starts it. In: the program's own arguments. Out: its
//! table and its JSON. Never here: a case, a bar, a clock.

use std::path::Path;
use std::process::Command;

use crate::checkout::Checkout;
use crate::child;
use crate::example::{self, Args};
use crate::failure::{Failure, Outcome};
use crate::{example_help, output};

/// Builds and runs.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    if args.asks_for_help() {
        return output::say(&example_help::text("bench", checkout)?);
    }
    let mut bench = example::built("bench", checkout)?;
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
