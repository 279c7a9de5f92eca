//! `unsafe` stands only under `crates/vulkan/src/raw/`, and there each use has its reason in a comment.

use super::source::Source;
use super::{Findings, Tree};
use crate::failure::Outcome;

/// The one folder that may hold unsafe code.
const RAW: &str = "crates/vulkan/src/raw/";
/// How many lines above an `unsafe` its reason may begin.
const REACH: usize = 6;

/// Reports unsafe code elsewhere, and unsafe code without a reason.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in &tree.sources {
        for (index, token) in source.tokens.iter().enumerate() {
            let next = source.tokens.get(index + 1).map_or("", |next| next.text.as_str());
            let back = |n: usize| index.checked_sub(n).map_or("", |i| source.tokens[i].text.as_str());
            let is_attribute = token.text == "unsafe_code" && back(1) == "(" && back(2) == "allow";
            if token.text != "unsafe" && !is_attribute {
                continue;
            }
            let licensed =
                source.path.starts_with(RAW) || (is_attribute && in_raw_declaration(source, token.line));
            if !licensed {
                findings.at(&source.path, token.line, format!("unsafe code outside {RAW}"));
            } else if matches!(next, "{" | "impl") && !has_reason(source, token.line) {
                findings.at(&source.path, token.line, "unsafe code without its reason (`// SAFETY: ...`)");
            }
        }
    }
    Ok(())
}

/// `#[allow(unsafe_code)] mod raw;` in the parent is how the folder gets its licence.
fn in_raw_declaration(source: &Source, line: usize) -> bool {
    let next = source.text.lines().nth(line).unwrap_or("");
    source.path == "crates/vulkan/src/lib.rs" && next.trim_start_matches("pub ").trim() == "mod raw;"
}

fn has_reason(source: &Source, line: usize) -> bool {
    let first = line.saturating_sub(REACH + 1);
    let mut above = source.text.lines().skip(first).take(line - first);
    above.any(|line| line.to_ascii_uppercase().contains("SAFETY"))
}
