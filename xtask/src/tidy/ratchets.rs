//! Numbers that may only fall: functions of more than 500 tokens (lists of samples aside), the share of tokens in
//! functions over 230, comments beyond 120 columns. What a token is, `tokens.rs` says. That no function has more than
//! 60 lines is law already (`sizes`).
//!
//! In: the parsed files. Out: a finding where a number is above the one here. Whoever lowers a number writes it here.

use std::fmt;

use super::{Findings, Source, Tree};
use crate::failure::Outcome;
use crate::tokens::{self, Count, Function, LONG};

/// Where the numbers stand.
const HERE: &str = "xtask/src/tidy/ratchets.rs";

/// Tokens that a function may have.
const MOST: usize = 500;
/// Columns that a comment may have.
const COLUMNS: usize = 120;

/// Functions of more than [`MOST`] tokens; aim: 0.
const LARGE_FUNCTIONS: usize = 0;
/// Tokens in functions over [`LONG`], in thousandths of the tokens in functions; aim: 350.
const LONG_SHARE: usize = 340;
/// Comments beyond [`COLUMNS`]; aim: 0.
const WIDE_COMMENTS: usize = 0;

/// The numbers as they are.
pub struct Measured {
    /// Path, line, and what is said of each large function.
    large: Vec<(String, usize, String)>,
    share: usize,
    /// Path and line of each wide comment.
    wide: Vec<(String, usize)>,
}

impl Measured {
    /// Of a checkout.
    pub fn of(sources: &[Source], count: &Count) -> Measured {
        let large = count.functions.iter().filter(|f| f.tokens > MOST && !f.is_samples());
        let said = |f: &Function| format!("fn {} has {} tokens, at most {MOST}", f.name, f.tokens);
        let own = sources.iter().filter(|source| !source.is_generated());
        let wide = own.flat_map(|s| wide_lines(s).into_iter().map(|line| (s.path.clone(), line)));
        Measured {
            large: large.map(|f| (f.path.clone(), f.line, said(f))).collect(),
            share: count.summary.long_share(),
            wide: wide.collect(),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (large, wide) = (self.large.len(), self.wide.len());
        writeln!(f, "functions over {MOST} tokens: {large}, at most {LARGE_FUNCTIONS}")?;
        writeln!(f, "thousandths of tokens in functions over {LONG}: {}, at most {LONG_SHARE}", self.share)?;
        writeln!(f, "comments beyond {COLUMNS} columns: {wide}, at most {WIDE_COMMENTS}")
    }
}

/// Reports each number that rose.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let Measured { large, share, wide } = Measured::of(&tree.sources, &tokens::count(&tree.sources));
    if large.len() > LARGE_FUNCTIONS {
        let all = large.len();
        for (path, line, said) in &large {
            let message = format!("{said}; there are {all} such functions, at most {LARGE_FUNCTIONS}");
            findings.at(path, *line, message);
        }
    }
    if share > LONG_SHARE {
        let message = format!(
            "{share} thousandths of the tokens in functions are in those over {LONG}, at most {LONG_SHARE}: name the \
             steps, split what grew (`cargo xtask tokens`)"
        );
        findings.at(HERE, 1, message);
    }
    if wide.len() > WIDE_COMMENTS {
        let all = wide.len();
        for (path, line) in &wide {
            let message =
                format!("beyond column {COLUMNS}; there are {all} such comments, at most {WIDE_COMMENTS}");
            findings.at(path, *line, message);
        }
    }
    Ok(())
}

/// Lines that end in a comment and have too many columns.
fn wide_lines(source: &Source) -> Vec<usize> {
    let is_comment = |line: &str| {
        let code = line.split("//").next().unwrap_or("").trim_end();
        // What stands before a comment ends a statement, an item or a list entry; else the slashes may be text.
        line.contains("//") && (code.is_empty() || code.ends_with([';', ',', '{', '}', '(', ')', '[', ']']))
    };
    let wide = |line: &str| line.chars().count() > COLUMNS && is_comment(line);
    (1..).zip(source.text.lines()).filter(|(_, line)| wide(line)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_measured_and_strings_are_not() {
        let long = "word ".repeat(30);
        let text = format!(
            "//! {long}\nfn a() {{ b(); }} // {long}\nconst URL: &str = \"https://{long}\";\n// short\n"
        );
        let source = Source::parse("crates/ir/src/x.rs", text).expect("the snippet is Rust");
        assert_eq!(wide_lines(&source), [1, 2]);
    }
}
