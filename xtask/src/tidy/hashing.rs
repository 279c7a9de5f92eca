//! Same inputs, same plan, to the byte: nothing that decides a plan may iterate in hash order.

use super::{Findings, Tree};
use crate::failure::Outcome;

const DECIDING: [&str; 5] = ["crates/types/", "crates/ir/", "crates/opt/", "crates/plan/", "crates/compile/"];

/// Reports `HashMap` and `HashSet` in the packages that decide a plan.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in tree.sources.iter().filter(|s| DECIDING.iter().any(|folder| s.path.starts_with(folder))) {
        for token in &source.tokens {
            if matches!(token.text.as_str(), "HashMap" | "HashSet" | "RandomState") {
                let message = format!("{} has no fixed order; use IndexMap or BTreeMap", token.text);
                findings.at(&source.path, token.line, message);
            }
        }
    }
    Ok(())
}
