//! Nothing in the tree announces that it is unfinished, and no test is switched off.

use super::{Findings, Tree};
use crate::failure::Outcome;

const MARKS: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
const IGNORED: &str = concat!("#[", "ignore");

/// Reasons whose tests `cargo xtask test --long` runs.
const RUN_BY_LONG: [&str; 2] = [" = \"long:", " = \"model:"];

/// Reports such marks in code and shaders.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let is_code = |path: &&String| [".rs", ".comp", ".glsl"].iter().any(|end| path.ends_with(end));
    for path in tree.files.iter().filter(is_code) {
        for (index, line) in tree.checkout.read(path)?.lines().enumerate() {
            let words = || line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if let Some(mark) = MARKS.iter().find(|mark| words().any(|word| word == **mark)) {
                findings.at(path, index + 1, format!("unfinished: {mark}"));
            }
            let ignored = line.trim_start().strip_prefix(IGNORED);
            if ignored.is_some_and(|rest| !RUN_BY_LONG.iter().any(|reason| rest.starts_with(reason))) {
                let message =
                    "an ignored test proves nothing: mend it, or say `= \"long: ...\"` or `= \"model: ...\"`";
                findings.at(path, index + 1, message);
            }
        }
    }
    Ok(())
}
