//! Patterns of names: `*` stands for any characters, none included; all else for itself.

/// Whether a name is of a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The leftmost place of each part leaves the most for those after it.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_characters() {
        let right = [
            ("*", ""),
            ("*.bias", "fc1.bias"),
            ("fc*.w*t", "fc1.weight"),
            ("a*b*c", "abbc"),
            ("x", "x"),
            ("**", "y"),
        ];
        let wrong = [("", "x"), ("*.bias", "bias"), ("fc1", "fc1.bias"), ("a*a", "a"), ("a*b*c", "acb")];
        assert!(right.iter().all(|(p, n)| matches(p, n)), "{right:?}");
        assert!(!wrong.iter().any(|(p, n)| matches(p, n)), "{wrong:?}");
    }
}
