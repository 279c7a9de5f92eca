//! Expected failures: one line each, `op: label => reason`. Strict both ways: a failure that is not listed fails the
//! suite, and so does a listed sample that passes, or one that does not exist.

use crate::op_suite::Summary;

/// The list of one runner.
pub struct Known(Vec<(String, String)>);

impl Known {
    /// Reads a list; empty lines and lines that begin with `#` say nothing.
    ///
    /// # Panics
    /// If a line has no reason.
    pub fn parse(text: &str) -> Known {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        let pair = |line: &str| {
            let (name, reason) = line.split_once(" => ").unwrap_or_else(|| panic!("no reason: {line}"));
            (name.to_owned(), reason.to_owned())
        };
        Known(lines.map(pair).collect())
    }

    /// The list without the samples that this part of the suite does not hold.
    pub fn only(self, held: impl Fn(&str) -> bool) -> Known {
        Known(self.0.into_iter().filter(|(name, _)| held(name)).collect())
    }

    /// Names of samples.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Everything that is not as listed, a line each.
    pub fn unexpected(&self, summary: &Summary) -> Vec<String> {
        let listed = |name: &str| self.0.iter().any(|(n, _)| n == name);
        let failed = summary.failed.iter().filter(|(name, _)| !listed(name));
        let mut lines: Vec<String> = failed.map(|(name, why)| format!("FAILED {name}: {why}")).collect();
        for (name, reason) in &self.0 {
            let as_listed = summary.failed.iter().chain(&summary.excluded).any(|(n, _)| n == name);
            if !as_listed {
                lines.push(format!("PASSED, though listed as failing ({reason}): {name}"));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_strict_both_ways() {
        let known = Known::parse("# why\n\na: x => slow\nb: y => wrong\n");
        let failed = vec![("a: x".to_owned(), "1".to_owned()), ("c: z".to_owned(), "2".to_owned())];
        let summary = Summary { passed: 1, failed, excluded: Vec::new() };
        let lines = known.unexpected(&summary);
        assert_eq!(lines, ["FAILED c: z: 2", "PASSED, though listed as failing (wrong): b: y"]);
        assert!(Known::parse("").unexpected(&Summary::default()).is_empty());
    }
}
