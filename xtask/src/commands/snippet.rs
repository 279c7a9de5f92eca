//! `cargo xtask snippet`: the README's program as a user's own crate. In: the README and the checkout. Out: a new crate
//! outside the workspace, built and run, with its build time and its packages counted. Never here: what the program
//! does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};
use crate::heartbeat::Heartbeat;

/// Packages that a program with the default features may build, pumice's own among them.
const MOST_PACKAGES: usize = 60;
/// Seconds that a build from nothing may take on two cores.
const MOST_SECONDS: f64 = 180.0;

/// Options of `snippet`.
#[derive(clap::Args)]
pub struct Args {
    /// Fail if the build took more than three minutes (of a machine that does nothing else)
    #[arg(long)]
    timed: bool,
}

/// Makes the crate, counts, builds, runs.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let folder = checkout.target_folder()?.join("snippet");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Failure::file(&folder))?;
    }
    write(checkout, &folder)?;
    let cargo = |args: &[&str]| {
        let mut command = child::cargo();
        command.args(args).current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
        command
    };
    let packages = packages(&mut cargo(&["tree", "--edges", "normal", "--prefix", "none"]))?;
    println!("{packages} packages with the default features");
    let start = Instant::now();
    let building = Heartbeat::start("building the README's program");
    child::run(&mut cargo(&["build"]))?;
    drop(building);
    let seconds = start.elapsed().as_secs_f64();
    println!("built from nothing in {seconds:.0} s");
    child::run(&mut cargo(&["run", "--quiet"]))?;
    if packages > MOST_PACKAGES {
        return Err(Failure::said(format!("{packages} packages are more than {MOST_PACKAGES}")));
    }
    if args.timed && seconds > MOST_SECONDS {
        return Err(Failure::said(format!("the build took {seconds:.0} s, more than {MOST_SECONDS:.0}")));
    }
    Ok(())
}

/// A crate of its own: the README's dependency with this checkout's path, the README's program, this checkout's lock.
fn write(checkout: &Checkout, folder: &Path) -> Outcome {
    let readme = checkout.read("README.md")?;
    let missing = |what| Failure::said(format!("README.md: no block of {what} in `As a library`"));
    let library = readme.split("## As a library").nth(1).ok_or_else(|| missing("anything"))?;
    let program = block(library, "rust").ok_or_else(|| missing("rust"))?;
    let dependency = block(library, "toml").ok_or_else(|| missing("toml"))?;
    let crate_path = checkout.root.join("crates").join("pumice").display().to_string().replace('\\', "/");
    let dependency = dependency.replace("../pumice/crates/pumice", &crate_path);
    if !dependency.contains(&crate_path) {
        return Err(Failure::said("README.md: the dependency is not `../pumice/crates/pumice`"));
    }
    let manifest = format!(
        "[package]\nname = \"readme-program\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n{dependency}"
    );
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(Failure::file(&source))?;
    for (path, text) in [
        (folder.join("Cargo.toml"), manifest),
        (source.join("main.rs"), program.to_owned()),
        (folder.join("Cargo.lock"), checkout.read("Cargo.lock")?),
    ] {
        fs::write(&path, text).map_err(Failure::file(&path))?;
    }
    Ok(())
}

/// The first fenced block of a language.
fn block<'a>(text: &'a str, language: &str) -> Option<&'a str> {
    let begin = text.split_once(&format!("```{language}\n"))?.1;
    Some(begin.split_once("```")?.0)
}

/// Different packages of a tree, the crate itself left out.
fn packages(tree: &mut Command) -> Outcome<usize> {
    let text = child::stdout(tree)?;
    let name = |line: &str| line.split(" (").next().unwrap_or(line).to_owned();
    let names: BTreeSet<String> = text.lines().filter(|line| !line.is_empty()).map(name).collect();
    Ok(names.iter().filter(|name| !name.starts_with("readme-program ")).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_language() {
        let text = "a\n```toml\nx = 1\n```\n```rust\nfn main() {}\n```\n";
        assert_eq!((block(text, "rust"), block(text, "c")), (Some("fn main() {}\n"), None));
    }
}
