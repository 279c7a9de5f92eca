//! Errors are read by people wherever they surface: `main` that returns one, or an `expect`, prints its `Debug`.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// Reports library types that derive both `Error` and `Debug`: `pumice_types::debug_as_display!` makes the second say
/// what the first does.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in &tree.sources {
        let tokens = source.library_tokens();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "derive") {
            // `derive` `(` words, deeper than itself, `)`
            let inside = tokens[at + 1..].iter().skip(1).take_while(|t| t.depth > token.depth);
            let words: Vec<&str> = inside.map(|t| t.text.as_str()).collect();
            if words.contains(&"Error") && words.contains(&"Debug") {
                let message =
                    "an error's `Debug` says what its `Display` says: `pumice_types::debug_as_display!`";
                findings.at(&source.path, token.line, message);
            }
        }
    }
    Ok(())
}
