//! A mistake tells the line that made the node: every public method of the graph's builder that makes one passes its
//! caller's place on. Macros are looked at as text.

use super::{Findings, Tree};
use crate::failure::Outcome;

const OPS: &str = "crates/ir/src/ops/";
const MARK: &str = "#[track_caller]";

/// Reports builder methods without the mark.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in tree.sources.iter().filter(|s| s.path.starts_with(OPS)) {
        let mut builder = None;
        let mut before = "";
        for (index, line) in source.text.lines().enumerate() {
            let (word, indent) = (line.trim(), line.len() - line.trim_start().len());
            if word.starts_with("impl ") && word.ends_with("GraphBuilder {") {
                builder = Some(indent);
            } else if builder == Some(indent) && word == "}" {
                builder = None;
            }
            let method = ["pub fn ", "fn "].iter().any(|start| word.starts_with(start));
            if builder.is_some_and(|at| indent == at + 4) && method && before != MARK {
                findings.at(&source.path, index + 1, format!("a builder method without {MARK}"));
            }
            before = word;
        }
    }
    Ok(())
}
