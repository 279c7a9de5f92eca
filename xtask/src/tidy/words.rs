//! Names use the field's vocabulary. Some words say nothing (which of several? for what?) and are avoided in
//! identifiers and file names.

use super::{Findings, Tree};
use crate::failure::Outcome;

const AVOIDED: [&str; 12] = [
    "backend", "backends", "util", "utils", "helper", "helpers", "misc", "manager", "managers", "thunk",
    "thunks", "legacy",
];

/// Reports such words, once per name and file.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for path in tree.files.iter().filter(|path| !path.starts_with("tests/data/")) {
        for word in path.split(['/', '.']).filter_map(avoided) {
            findings.at(path, 1, format!("file name with `{word}`"));
        }
    }
    // Programs for comparison speak the language of what they call.
    for source in tree.sources.iter().filter(|source| !source.path.starts_with("tests/reference/")) {
        let mut seen = Vec::new();
        for token in source.tokens.iter().filter(|token| token.is_word) {
            if let Some(word) = avoided(&token.text)
                && !seen.contains(&&token.text)
            {
                findings.at(&source.path, token.line, format!("`{}`: avoid `{word}`", token.text));
                seen.push(&token.text);
            }
        }
    }
    Ok(())
}

/// The first avoided word inside a snake_case or CamelCase name. VK_EXT_debug_utils is Vulkan's own name.
fn avoided(name: &str) -> Option<&'static str> {
    let name = name.replace("debug_utils", "debug").replace("DebugUtils", "Debug");
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c == '-' || c.is_uppercase() {
            parts.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
    }
    AVOIDED.iter().copied().find(|word| parts.iter().any(|part| part == word))
}

#[cfg(test)]
mod tests {
    use super::avoided;

    #[test]
    fn words_are_found_inside_names_only_whole() {
        assert_eq!(avoided("VulkanBackend"), Some("backend"));
        assert_eq!(avoided("string_utils"), Some("utils"));
        assert_eq!(avoided("utility"), None);
        assert_eq!(avoided("DebugUtilsMessengerEXT"), None);
        assert_eq!(avoided("mismatch"), None);
    }
}
