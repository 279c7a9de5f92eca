//! Libraries read no environment and hold no statics: what a caller wants is in an options struct.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// Functions of `std::env` that read or change the process's surroundings.
const SURROUNDINGS: [&str; 9] =
    ["var", "var_os", "vars", "vars_os", "set_var", "remove_var", "temp_dir", "home_dir", "current_dir"];

/// Where a thread keeps whether the evaluator rounds: an option of an evaluation, put back when it ends, which every
/// op's evaluation would have to be handed otherwise.
const SCOPED: &str = "crates/cpu-ref/src/array.rs";

/// Reports environment reads, statics and thread locals in libraries.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in &tree.sources {
        let tokens = source.library_tokens();
        for (index, token) in tokens.iter().enumerate() {
            let back = |n: usize| index.checked_sub(n).map_or("", |i| tokens[i].text.as_str());
            let after_env = back(1) == ":" && back(2) == ":" && back(3) == "env";
            if after_env && SURROUNDINGS.contains(&token.text.as_str()) {
                findings.at(&source.path, token.line, format!("a library calls env::{}", token.text));
            }
            let scoped = source.path == SCOPED;
            if matches!(token.text.as_str(), "option_env" | "thread_local") && token.is_word && !scoped {
                findings.at(&source.path, token.line, format!("a library uses {}!", token.text));
            }
            if token.text == "static" && token.is_word && back(1) != "'" && !scoped {
                findings.at(&source.path, token.line, "a library holds a static; use a const or an owner");
            }
        }
    }
    Ok(())
}
