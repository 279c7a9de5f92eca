//! The house rules, one file each. In: the checkout. Out: findings. Never here: mending what was found.

mod byte_counts;
mod coverage;
mod dependencies;
mod duties;
mod environment;
mod errors;
mod facade;
mod hashing;
mod header;
mod ids;
mod links;
mod modules;
mod panics;
mod paths;
mod places;
#[cfg(test)]
mod planted;
mod ratchets;
mod resolve;
mod selection;
mod sizes;
mod source;
mod spirv;
mod unfinished;
mod unsafe_code;
mod words;

use std::fmt;

use serde::Serialize;

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
pub use ratchets::Measured;
pub use sizes::Lengths;
pub use source::{Source, Token};

/// One place that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Path relative to the checkout.
    pub path: String,
    /// 1-based line.
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.message)
    }
}

/// What a rule looks at.
pub struct Tree<'a> {
    /// The checkout itself.
    pub checkout: &'a Checkout,
    /// Every file's path, sorted.
    pub files: Vec<String>,
    /// Every Rust file, parsed.
    pub sources: Vec<Source>,
}

/// What a rule reports: line, path and message.
pub struct Findings {
    rule: &'static str,
    list: Vec<Finding>,
}

impl Findings {
    /// None yet, of that rule.
    fn of(rule: &'static str) -> Findings {
        Findings { rule, list: Vec::new() }
    }

    /// How many there are.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.list.len()
    }

    /// Notes one place.
    pub fn at(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.list.push(Finding { path: path.to_owned(), line, rule: self.rule, message: message.into() });
    }
}

type Rule = fn(&Tree<'_>, &mut Findings) -> Outcome;

/// The rules by name. A name is what `--rule` takes and what stands before a finding.
const RULES: [(&str, Rule); 22] = [
    ("bytes", byte_counts::check),
    ("coverage", coverage::check),
    ("dependencies", dependencies::check),
    ("duties", duties::check),
    ("environment", environment::check),
    ("errors", errors::check),
    ("facade", facade::check),
    ("hashing", hashing::check),
    ("header", header::check),
    ("ids", ids::check),
    ("links", links::check),
    ("modules", modules::check),
    ("panics", panics::check),
    ("paths", paths::check),
    ("places", places::check),
    ("ratchets", ratchets::check),
    ("selection", selection::check),
    ("sizes", sizes::check),
    ("spirv", spirv::check),
    ("unfinished", unfinished::check),
    ("unsafe", unsafe_code::check),
    ("words", words::check),
];

/// All findings, in the order of paths and lines.
pub struct Report {
    /// Rules that ran.
    pub rules: usize,
    /// Files they saw.
    pub files: usize,
    /// What they found.
    pub findings: Vec<Finding>,
    /// How long functions are, by package.
    pub lengths: Vec<Lengths>,
}

/// Every Rust file of the checkout, parsed.
pub fn sources(checkout: &Checkout) -> Outcome<Vec<Source>> {
    let mut sources = Vec::new();
    for path in checkout.files()?.iter().filter(|path| path.ends_with(".rs")) {
        sources.push(Source::parse(path, checkout.read(path)?)?);
    }
    source::mark_test_modules(&mut sources);
    Ok(sources)
}

/// Runs the rules named in `only`, or all of them where `only` is empty.
pub fn check(checkout: &Checkout, only: &[String]) -> Outcome<Report> {
    if let Some(unknown) = only.iter().find(|name| RULES.iter().all(|(known, _)| known != name)) {
        let known: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        return Err(Failure::said(format!("no rule `{unknown}`; the rules are: {}", known.join(", "))));
    }
    let tree = Tree { checkout, files: checkout.files()?, sources: sources(checkout)? };
    let lengths = sizes::lengths(&tree.sources);
    let mut report = Report { rules: 0, files: tree.files.len(), findings: Vec::new(), lengths };
    for (rule, run) in RULES {
        if only.is_empty() || only.iter().any(|name| name == rule) {
            let mut findings = Findings::of(rule);
            run(&tree, &mut findings)?;
            report.findings.append(&mut findings.list);
            report.rules += 1;
        }
    }
    report.findings.sort();
    report.findings.dedup();
    Ok(report)
}
