//! `cargo xtask package`: what crates.io would get. In: the checkout. Out: one package file per published
//! crate, each built from that file alone. Never here: publishing.

use crate::checkout::Checkout;
use crate::child;
use crate::failure::Outcome;

/// Options of `package`.
#[derive(clap::Args)]
pub struct Args {
    /// Package uncommitted changes too
    #[arg(long)]
    allow_dirty: bool,
    /// Make the packages without building them
    #[arg(long)]
    no_verify: bool,
}

/// Packages every published crate in one call, so that they resolve to each other.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let packages = checkout.packages()?;
    let published: Vec<&str> =
        packages.iter().filter(|p| p.is_published()).map(|p| p.name.as_str()).collect();
    let mut command = child::cargo();
    command.arg("package").current_dir(&checkout.root);
    for name in &published {
        command.args(["--package", name]);
    }
    if args.allow_dirty {
        command.arg("--allow-dirty");
    }
    if args.no_verify {
        command.arg("--no-verify");
    }
    child::run(&mut command)?;
    println!("packaged {} crates: {}", published.len(), published.join(" "));
    Ok(())
}
