//! `cargo xtask package`: what crates.io would get. In: the checkout. Out: one package file per published
//! crate, each built from that file alone. Never here: publishing.

use std::path::Path;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

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
    let target = checkout.target_folder()?.join("package-check");
    forget(&target)?;
    command.arg("--target-dir").arg(&target);
    // What is built is not run.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    child::run(&mut command)?;
    println!("packaged {} crates: {}", published.len(), published.join(" "));
    Ok(())
}

/// Removes what an earlier check built and unpacked of these packages: Cargo takes packages of a registry to be
/// immutable, so it would build against the old contents of the same version.
fn forget(target: &Path) -> Outcome {
    remove_ours(&target.join("debug").join(".fingerprint"))?;
    let Some(home) = child::cargo_home() else { return Ok(()) };
    let Ok(registries) = std::fs::read_dir(home.join("registry").join("src")) else { return Ok(()) };
    for registry in registries.flatten() {
        // `cargo package` resolves the packages to each other through a registry in a folder. Such a registry has no
        // host, so the folder of its unpacked packages starts with the dash that follows the host elsewhere.
        if registry.file_name().to_string_lossy().starts_with('-') {
            remove_ours(&registry.path())?;
        }
    }
    Ok(())
}

/// Removes the folders in `folder` whose names start with this project's.
fn remove_ours(folder: &Path) -> Outcome {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with("pumice") {
            std::fs::remove_dir_all(entry.path())
                .map_err(|source| Failure::File { path: entry.path(), source })?;
        }
    }
    Ok(())
}
