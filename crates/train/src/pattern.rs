//! Patterns of names: `*` stands for any characters, none included; all else for itself. One that is a name, as it
//! stands, is of that name alone.

/// A pattern among names.
pub(crate) struct Pattern<'p> {
    text: &'p str,
    is_name: bool,
}

impl<'p> Pattern<'p> {
    /// A pattern of these names.
    pub(crate) fn among<'n>(text: &'p str, names: impl IntoIterator<Item = &'n str>) -> Pattern<'p> {
        let is_name = !text.contains('*') || names.into_iter().any(|name| name == text);
        Pattern { text, is_name }
    }

    /// Whether a name is of it.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if self.is_name { self.text == name } else { with_stars(self.text, name) }
    }
}

fn with_stars(pattern: &str, name: &str) -> bool {
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
    use super::Pattern;

    #[test]
    fn stars_stand_for_any_characters() {
        let matches = |pattern: &str, name: &str| Pattern::among(pattern, []).matches(name);
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

    #[test]
    fn a_pattern_that_is_a_name_is_of_it_alone() {
        let names = ["a*c", "abc", "a**c"];
        let of = |pattern: &str| {
            let pattern = Pattern::among(pattern, names);
            names.into_iter().filter(|name| pattern.matches(name)).collect::<Vec<_>>()
        };
        assert_eq!(of("a*c"), ["a*c"]);
        assert_eq!(of("abc"), ["abc"]);
        assert_eq!(of("a*"), names);
        assert_eq!(of("*c"), names);
    }
}
