//! Every Rust file begins with `//!`; every shader says its formula in a comment within its first lines.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// `#version` and `#extension` lines may stand above a shader's header.
const SHADER_HEADER_WITHIN: usize = 6;

/// Reports files without a header.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in tree.sources.iter().filter(|source| !source.text.starts_with("//!")) {
        findings.at(
            &source.path,
            1,
            "the first line is not `//!` (what comes in, what goes out, what is never here)",
        );
    }
    for path in tree.files.iter().filter(|path| path.ends_with(".comp") || path.ends_with(".glsl")) {
        let text = tree.checkout.read(path)?;
        if !text.lines().take(SHADER_HEADER_WITHIN).any(|line| line.trim_start().starts_with("//")) {
            findings.at(path, 1, "no comment in the first lines says the formula and the thread mapping");
        }
    }
    Ok(())
}
