//! Compiles pumice's kernels to the SPIR-V that is checked in.
//!
//! In: the declarations of `pumice-plan` and the sources under `shaders/`. Out: `spv/*.spv`, `spv/manifest.json` and
//! `src/table.rs`, and the fingerprints in `pumice-plan`. Every module is validated and reflected against its
//! declaration before it is written; a mismatch stops the build. Run by `cargo xtask shaders`; nothing else depends on
//! this package.

mod compile;
mod error;
mod manifest;
mod optimize;
mod reflect;
mod reflect_features;
mod table;
#[cfg(test)]
mod tests;

use error::BuildError;
use manifest::{Entry, Manifest};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernel::interface::{Addressing, module_file};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the command line asks for.
struct Options {
    /// The `shaders/` folder.
    root: PathBuf,
    /// Compile kernels whose manifest entry is up to date as well.
    force: bool,
    /// Only kernels whose name contains one of these; empty for all.
    only: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    match build(&options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} kernels failed");
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn options(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
    let mut options = Options { root, force: false, only: Vec::new() };
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--force" => options.force = true,
            "--root" => options.root = args.next().ok_or("--root takes a folder")?.into(),
            name if !name.starts_with('-') => options.only.push(name.to_owned()),
            _ => return Err("usage: pumice-shader-build [--force] [--root DIR] [KERNEL...]".to_owned()),
        }
    }
    Ok(options)
}

/// Compiles what is not up to date and returns how many kernels failed.
fn build(options: &Options) -> Result<usize, BuildError> {
    let spv = options.root.join("spv");
    let old = Manifest::read(&spv)?;
    let mut new = Manifest::default();
    let mut failed = 0;
    for decl in pumice_plan::kernels::all() {
        let name = decl.name.to_owned();
        let wanted = options.only.is_empty() || options.only.iter().any(|o| name.contains(o.as_str()));
        let current = old.kernels.get(&name).filter(|e| e.is_current(decl, &options.root));
        let kept = if !wanted { old.kernels.get(&name) } else { current.filter(|_| !options.force) };
        if let Some(entry) = kept {
            new.kernels.insert(name, entry.clone());
            continue;
        }
        match kernel(decl, &options.root) {
            Ok(entry) => {
                println!("{name}: {} modules", entry.modules.len());
                new.kernels.insert(name, entry);
            }
            Err(e) => {
                eprintln!("{name}: {e}");
                failed += 1;
                // Its last good modules stay, and stay out of date.
                if let Some(entry) = old.kernels.get(&name) {
                    new.kernels.insert(name, entry.clone());
                }
            }
        }
    }
    new.write(&spv)?;
    table::write(&options.root, &new)?;
    table::write_fingerprints(&options.root, &new)?;
    Ok(failed)
}

/// All modules of one kernel.
fn kernel(decl: &'static KernelDecl, root: &Path) -> Result<Entry, BuildError> {
    let mut entry = Entry::new(decl);
    let mut coverage = reflect::Coverage::default();
    let mut modules = Vec::new();
    for variant in decl.variants {
        for form in Addressing::ALL {
            if form == Addressing::Descriptor && !variant.plain {
                continue;
            }
            let (words, sources) = compile::compile(decl, variant, form, root)?;
            let words = optimize::optimize(words, variant.opt)?;
            reflect::check(decl, variant, form, &words, &mut coverage)?;
            entry.sources.extend(sources);
            modules.push((module_file(decl.name, variant.name, form), words));
        }
    }
    coverage.complete(decl)?;
    for (file, words) in modules {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        entry.modules.insert(file.clone(), manifest::hash(&bytes));
        let path = root.join("spv").join(file);
        std::fs::write(&path, bytes).map_err(|e| BuildError::file(&path, e))?;
    }
    Ok(entry)
}
