//! No path of one machine stands in the repository.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// First folders of absolute paths that exist on somebody's machine only.
const FOLDERS: [&str; 6] = ["work", "farm", "root", "tmp", "home", "Users"];
const TEXT: [&str; 12] =
    [".rs", ".md", ".toml", ".sh", ".comp", ".glsl", ".py", ".ir", ".txt", ".json", ".ci/run", ".gitignore"];

/// Reports absolute paths into such folders. Vendored data (`tests/data/`) is text of others.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for path in &tree.files {
        if !TEXT.iter().any(|end| path.ends_with(end)) || path.starts_with("tests/data/") {
            continue;
        }
        for (index, line) in tree.checkout.read(path)?.lines().enumerate() {
            if let Some(found) = machine_path(line) {
                findings.at(path, index + 1, format!("path of one machine: {found}"));
            }
        }
    }
    Ok(())
}

fn machine_path(line: &str) -> Option<&str> {
    FOLDERS.iter().find_map(|folder| {
        line.match_indices(&format!("/{folder}/")).find_map(|(at, hit)| {
            let starts = !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}/*".contains(c));
            let rest = &line[at + hit.len()..];
            let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
            let end = rest.find(|c: char| c.is_whitespace() || "\"'`)".contains(c)).unwrap_or(rest.len());
            (starts && goes_on).then(|| &line[at..at + hit.len() + end])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::machine_path;

    #[test]
    fn absolute_paths_are_found_and_relative_ones_are_not() {
        let absolute = format!("see /{}/x/y.rs for", "work");
        assert_eq!(machine_path(&absolute), Some(&absolute[4..16]));
        assert_eq!(machine_path("target/tmp/x"), None);
        assert_eq!(machine_path("$HOME/work/x"), None);
        assert_eq!(machine_path("no path here"), None);
    }
}
