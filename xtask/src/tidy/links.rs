//! Links in Markdown resolve: the file is there, and so is the heading.

use super::{Findings, Tree};
use crate::failure::Outcome;

/// Reports relative links that lead nowhere. Links to other sites are not followed.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for path in tree.files.iter().filter(|path| path.ends_with(".md") && !path.starts_with("tests/data/")) {
        let text = tree.checkout.read(path)?;
        for (line, target) in links(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let goal = if file.is_empty() { path.clone() } else { join(path, file) };
            if !tree.checkout.root.join(&goal).exists() {
                findings.at(path, line, format!("link to a file that is not there: {target}"));
            } else if !anchor.is_empty() && goal.ends_with(".md") {
                let headings = headings(&tree.checkout.read(&goal)?);
                if !headings.iter().any(|heading| heading == anchor) {
                    findings.at(path, line, format!("no heading `{anchor}` in {goal}"));
                }
            }
        }
    }
    Ok(())
}

/// Line and target of every `[text](target)` outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for (index, piece) in line.split("](").enumerate() {
            if index > 0
                && let Some(end) = piece.find(')')
            {
                let target = piece[..end].split_whitespace().next().unwrap_or("");
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Lines outside fences, with inline code blanked.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "" });
            lines.push((index + 1, outside.collect::<Vec<_>>().join("`")));
        }
    }
    lines
}

/// Anchors of the headings, made the way GitHub makes them.
fn headings(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if let (false, Some(title)) = (fenced, line.strip_prefix('#')) {
            let title = title.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

fn join(from: &str, to: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if let Some(absolute) = to.strip_prefix('/') {
        return absolute.to_owned();
    }
    for part in to.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_code_are_seen() {
        let text = "a [b](c.md#d)\n```\n[x](y)\n```\n`[q](r)` [e](../f)\n";
        assert_eq!(links(text), [(1, "c.md#d".to_owned()), (5, "../f".to_owned())]);
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(headings("# A b: `c`\n```\n# no\n```\n## D-e\n"), ["a-b-c", "d-e"]);
    }

    #[test]
    fn relative_targets_are_joined() {
        assert_eq!(join("docs/a.md", "../README.md"), "README.md");
        assert_eq!(join("README.md", "docs/rejected.md"), "docs/rejected.md");
    }
}
