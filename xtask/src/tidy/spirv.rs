//! The checked-in SPIR-V was made from the checked-in shaders: the hashes in `shaders/spv/manifest.json` hold for
//! sources and modules, and the fingerprints that plans are compared with are those. (That they hold for the
//! declarations too needs `pumice-plan`, so a test of xtask says it.) All modules together have a bound in bytes: every
//! program that links pumice carries them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Findings, Tree};
use crate::failure::{Failure, Outcome};

const MANIFEST: &str = "shaders/spv/manifest.json";
/// Bytes of all modules together, at most: 15.56 MiB. On 2026-11-30 they were 16.2 million, 3.6 million of them for
/// matrix units, 1.0 million for gradients of attention; four encodings of blocks had added 0.33 million to 31 modules.
const MOST_BYTES: u64 = 16_318_464;
const AGAIN: &str = "run `cargo xtask shaders`";

#[derive(Deserialize)]
struct Manifest {
    kernels: BTreeMap<String, Kernel>,
}

/// One kernel: hashes of its declaration, of its sources by path below `shaders/`, of its modules by file name.
#[derive(Deserialize)]
struct Kernel {
    declaration: String,
    sources: BTreeMap<String, String>,
    modules: BTreeMap<String, String>,
}

/// Reports stale, missing and unknown shaders and modules.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let shaders: Vec<&String> = tree.files.iter().filter(|path| path.ends_with(".comp")).collect();
    if !tree.files.iter().any(|path| path == MANIFEST) {
        if let Some(path) = shaders.first() {
            findings.at(path, 1, format!("{} shaders and no {MANIFEST}: {AGAIN}", shaders.len()));
        }
        return Ok(());
    }
    let manifest = read(&tree.checkout.read(MANIFEST)?)?;
    let mut known = BTreeSet::from([MANIFEST.to_owned()]);
    for (name, kernel) in &manifest.kernels {
        let sources = kernel.sources.iter().map(|(file, hash)| (format!("shaders/{file}"), hash));
        let modules = kernel.modules.iter().map(|(file, hash)| (format!("shaders/spv/{file}"), hash));
        for (path, expected) in sources.chain(modules) {
            match std::fs::read(tree.checkout.root.join(&path)) {
                Ok(bytes) if hash(&bytes) == *expected => {}
                Ok(_) => findings.at(&path, 1, format!("changed since {name} was compiled: {AGAIN}")),
                Err(_) => findings.at(
                    MANIFEST,
                    1,
                    format!("{name} was made from or into {path}, which is not there"),
                ),
            }
            known.insert(path);
        }
    }
    let ours = |path: &&String| path.ends_with(".comp") || path.starts_with("shaders/spv/");
    for path in tree.files.iter().filter(ours).filter(|path| !known.contains(*path)) {
        findings.at(path, 1, format!("no kernel in {MANIFEST} knows it: declare a kernel, then {AGAIN}"));
    }
    check_size(tree, MOST_BYTES, findings);
    check_table(tree, &manifest, findings)
}

fn check_size(tree: &Tree<'_>, most: u64, findings: &mut Findings) {
    let modules = tree.files.iter().filter(|path| path.ends_with(".spv"));
    let size = |path: &String| std::fs::metadata(tree.checkout.root.join(path)).map_or(0, |file| file.len());
    let bytes: u64 = modules.map(size).sum();
    if bytes > most {
        let message =
            format!("modules have {bytes} bytes together, at most {most}: share code, or leave variants out");
        findings.at(MANIFEST, 1, message);
    }
}

fn check_table(tree: &Tree<'_>, manifest: &Manifest, findings: &mut Findings) -> Outcome {
    let fingerprints = "crates/plan/src/kernels/fingerprints.rs";
    let text = tree.checkout.read(fingerprints)?;
    for (name, kernel) in &manifest.kernels {
        let reached = kernel.modules.iter().filter(|(file, _)| file.ends_with(".address.spv"));
        for hash in reached.map(|(_, hash)| hash).chain([&kernel.declaration]) {
            if !text.contains(hash.as_str()) {
                findings.at(fingerprints, 1, format!("plans are made for another {name}: {AGAIN}"));
            }
        }
    }
    let table = "shaders/src/table.rs";
    let text = tree.checkout.read(table)?;
    let modules = manifest.kernels.values().flat_map(|kernel| kernel.modules.keys());
    for module in modules.filter(|module| !text.contains(&format!("/{module}\""))) {
        findings.at(table, 1, format!("{module} is missing: {AGAIN}"));
    }
    Ok(())
}

fn read(text: &str) -> Outcome<Manifest> {
    serde_json::from_str(text).map_err(|e| Failure::Form {
        path: MANIFEST.to_owned(),
        line: e.line(),
        message: e.to_string(),
    })
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod size_tests {
    use super::*;
    use crate::checkout::Checkout;

    #[test]
    fn modules_have_a_bound_together() {
        let checkout = Checkout::find().expect("tests run inside the checkout");
        let files = checkout.files().expect("a list");
        let tree = Tree { checkout: &checkout, files, sources: Vec::new() };
        for (most, count) in [(MOST_BYTES, 0), (1 << 20, 1)] {
            let mut findings = Findings::of("spirv");
            check_size(&tree, most, &mut findings);
            assert_eq!(findings.count(), count, "at most {most} bytes");
        }
    }
}

#[cfg(all(test, feature = "libraries"))]
mod tests {
    use super::*;
    use crate::checkout::Checkout;

    #[test]
    fn declarations_are_those_that_were_compiled() {
        let checkout = Checkout::find().expect("tests run inside the checkout");
        let manifest = read(&checkout.read(MANIFEST).expect("the manifest is checked in")).expect("JSON");
        for declaration in pumice_plan::kernels::all() {
            let fingerprint = pumice_plan::kernel::interface::fingerprint(declaration);
            let kernel = manifest.kernels.get(declaration.name);
            let compiled = kernel.map(|kernel| kernel.declaration.as_str());
            assert_eq!(
                compiled,
                Some(hash(fingerprint.as_bytes()).as_str()),
                "{}: {AGAIN}",
                declaration.name
            );
        }
    }
}
