//! Who may know whom. Cargo keeps the rule once it is written into the manifests; this keeps the manifests.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// Each package of ours with the packages of ours that it may depend on (besides for its own tests).
const MAY_KNOW: [(&str, &[&str]); 13] = [
    ("pumice-types", &[]),
    ("pumice-shaders", &[]),
    ("pumice-ir", &["pumice-types"]),
    ("pumice-plan", &["pumice-types"]),
    ("pumice-opt", &["pumice-types", "pumice-ir"]),
    ("pumice-compile", &["pumice-types", "pumice-ir", "pumice-opt", "pumice-plan"]),
    ("pumice-runtime", &["pumice-types", "pumice-plan"]),
    ("pumice-vulkan", &["pumice-types", "pumice-plan", "pumice-runtime", "pumice-shaders"]),
    ("pumice-cpu-ref", &["pumice-types", "pumice-ir", "pumice-plan", "pumice-runtime"]),
    ("pumice-import", &["pumice-types", "pumice-ir"]),
    ("pumice-train", &["pumice-types", "pumice-ir"]),
    ("pumice-models", &["pumice-types", "pumice-ir", "pumice-import"]),
    ("pumice-shader-build", &["pumice-types", "pumice-plan"]),
];
/// These may know every package but the shader compiler.
const MAY_KNOW_ALL: [&str; 3] = ["pumice", "pumice-tests", "xtask"];

/// The feature of pumice-plan with which a plan need not be checked.
const UNSOUND: &str = "unsound";

/// Reports dependencies that cross a border the wrong way.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for package in tree.checkout.packages()? {
        let may_know = MAY_KNOW.iter().find(|(name, _)| *name == package.name).map(|(_, list)| *list);
        if may_know.is_none() && !MAY_KNOW_ALL.contains(&package.name.as_str()) {
            findings.at("Cargo.toml", 1, format!("{} has no line in the dependency rule", package.name));
        }
        for dependency in package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev")) {
            let ours = dependency.name == "pumice" || dependency.name.starts_with("pumice-");
            let allowed = match may_know {
                Some(list) => list.contains(&dependency.name.as_str()),
                None => dependency.name != "pumice-shader-build",
            };
            if ours && !allowed {
                let message = format!("{} must not depend on {}", package.name, dependency.name);
                findings.at("Cargo.toml", 1, message);
            }
            if dependency.features.iter().any(|f| f == UNSOUND) {
                let message = format!("{} takes plans that nobody checked: tests alone may", package.name);
                findings.at("Cargo.toml", 1, message);
            }
        }
    }
    Ok(())
}
