//! What a run of the suites says last. In: nextest's report as JUnit's XML. Out: counts and the names of what failed,
//! by which a person finds the output above. Never here: running anything.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::checkout::Checkout;
use crate::failure::Outcome;

/// Where nextest writes the report of a profile.
pub fn report(checkout: &Checkout, profile: &str) -> Outcome<PathBuf> {
    Ok(checkout.target_folder()?.join("nextest").join(profile).join("junit.xml"))
}

/// How tests ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many passed.
    pub passed: usize,
    /// `binary test` of each that failed.
    pub failed: Vec<String>,
}

impl Summary {
    /// Reads a report; none where no test was begun.
    pub fn read(path: &PathBuf) -> Option<Summary> {
        Some(Summary::of(&fs::read_to_string(path).ok()?))
    }

    fn of(xml: &str) -> Summary {
        let mut summary = Summary::default();
        for case in xml.split("<testcase ").skip(1) {
            let attribute = |name: &str| {
                let rest = case.split_once(&format!("{name}=\""))?.1;
                Some(rest.split('"').next().unwrap_or_default())
            };
            // `classname` ends in `name` as well: the attribute stands at the beginning or after a space.
            let name = case.strip_prefix("name=\"").and_then(|rest| rest.split('"').next());
            let name = name.or_else(|| attribute(" name")).unwrap_or("?");
            let body = case.split("</testcase>").next().unwrap_or_default();
            if body.contains("<failure") || body.contains("<error") {
                summary.failed.push(format!("{} {name}", attribute("classname").unwrap_or("?")));
            } else {
                summary.passed += 1;
            }
        }
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.failed {
            writeln!(f, "FAILED {name}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failed.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_named() {
        let xml = r#"<testsuites tests="3"><testsuite name="a"><testcase name="x::y" classname="a" time="1"></testcase>
            <testcase name="x::z" classname="a::bin"><failure type="test failure">panicked: <![CDATA[..]]></failure></testcase>
            <testcase name="w" classname="b"><system-out>failure</system-out></testcase></testsuite></testsuites>"#;
        let summary = Summary::of(xml);
        assert_eq!(summary, Summary { passed: 2, failed: vec!["a::bin x::z".to_owned()] });
        assert_eq!(summary.to_string(), "FAILED a::bin x::z\n2 passed, 1 failed");
    }
}
