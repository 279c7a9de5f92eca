//! Counts tokens of Rust, the measure of how much there is to read. In: the parsed files of the checkout. Out: tokens
//! by crate and folder, and of functions. Never here: a law; `tidy/ratchets.rs` has those.
//!
//! A token is a word, a number, a string or one character of punctuation; a bracket is one at either end. Comments do
//! not count, docs among them. Tests do not count: items under `#[cfg(test)]` and `#[test]`, files under `tests/`,
//! `benches/` and `examples/`, `tests.rs`, and modules that only tests have. Generated files and tools do not count.
//! A function's tokens are those from its `fn` to the end of its body. One inside another counts for both.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::tidy::{Source, Token};

/// A function is long from here on.
pub const LONG: usize = 230;

/// One function that is no test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its file.
    pub path: String,
    /// Line of its `fn`.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// From `fn` to the end of its body.
    pub tokens: usize,
}

impl Function {
    /// Whether it only lists samples of an op.
    pub fn is_samples(&self) -> bool {
        let of_file = self.path.ends_with("_samples.rs") || self.path.ends_with("/samples.rs");
        self.name == "samples" || self.name.ends_with("_samples") || of_file
    }
}

/// Functions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Functions {
    /// How many there are.
    pub count: usize,
    /// Tokens of the one in the middle.
    pub median: usize,
    /// Nine of ten have no more.
    pub ninth_tenth: usize,
    /// The largest.
    pub largest: usize,
    /// Tokens of all together.
    pub tokens: usize,
    /// Of these, tokens of functions over [`LONG`].
    pub in_long: usize,
}

impl Functions {
    /// Of these functions.
    pub fn of<'f>(functions: impl IntoIterator<Item = &'f Function>) -> Functions {
        let mut sizes: Vec<usize> = functions.into_iter().map(|f| f.tokens).collect();
        sizes.sort_unstable();
        let Some(last) = sizes.len().checked_sub(1) else { return Functions::default() };
        let at = |tenth: usize| sizes[last * tenth / 10];
        Functions {
            count: sizes.len(),
            median: at(5),
            ninth_tenth: at(9),
            largest: at(10),
            tokens: sizes.iter().sum(),
            in_long: sizes.iter().filter(|size| **size > LONG).sum(),
        }
    }

    /// Tokens in long functions, in thousandths of all; 0 where there is no function.
    pub fn long_share(&self) -> usize {
        (1000 * self.in_long).checked_div(self.tokens).unwrap_or(0)
    }
}

/// What was counted.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Count {
    /// All tokens.
    pub tokens: usize,
    /// By crate: `crates/ir`.
    pub crates: BTreeMap<String, usize>,
    /// By folder: `crates/ir/src/ops`, files of folders below it not among them.
    pub folders: BTreeMap<String, usize>,
    /// Tokens of `compile`, `opt` and `plan/src/kernels`: where an op meets a kernel.
    pub middle: usize,
    /// All functions together, but lists of samples.
    pub summary: Functions,
    /// Each function, in order of files and lines.
    #[serde(skip)]
    pub functions: Vec<Function>,
}

/// Folders of [`Count::middle`].
const MIDDLE: [&str; 3] = ["crates/compile/src/", "crates/opt/src/", "crates/plan/src/kernels/"];

/// Counts the files of the product: everything that is no test and no tool.
pub fn count(sources: &[Source]) -> Count {
    let mut count = Count::default();
    for source in sources.iter().filter(|source| is_product(source)) {
        let tokens = without_docs(&source.tokens);
        // The `#` of an attribute that begins a test stands before it.
        let begins_test = |at: usize| tokens[at].text == "#" && tokens.get(at + 1).is_some_and(|t| t.in_test);
        let shipped = (0..tokens.len()).filter(|&at| !tokens[at].in_test && !begins_test(at)).count();
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let package = source.path.split("/src/").next().unwrap_or(folder);
        *count.crates.entry(package.to_owned()).or_default() += shipped;
        *count.folders.entry(folder.to_owned()).or_default() += shipped;
        count.tokens += shipped;
        if MIDDLE.iter().any(|middle| source.path.starts_with(middle)) {
            count.middle += shipped;
        }
        count.functions.extend(functions(&source.path, &tokens));
    }
    count.summary = Functions::of(count.functions.iter().filter(|f| !f.is_samples()));
    count
}

fn is_product(source: &Source) -> bool {
    let file = source.path.rsplit('/').next().unwrap_or("");
    source.path.starts_with("crates/") && !source.is_test() && !source.is_generated() && file != "tests.rs"
}

/// Tokens without the attributes that comments before items become, and without what has no text.
fn without_docs(tokens: &[Token]) -> Vec<&Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        match doc_length(&tokens[at..]) {
            Some(length) => at += length,
            None => {
                kept.extend(Some(&tokens[at]).filter(|token| !token.text.is_empty()));
                at += 1;
            }
        }
    }
    kept
}

/// The length of `#[doc = …]` or `#![doc = …]` at the beginning.
fn doc_length(tokens: &[Token]) -> Option<usize> {
    let text = |i: usize| tokens.get(i).map(|token| token.text.as_str());
    let open = match (text(0), text(1)) {
        (Some("#"), Some("[")) => 1,
        (Some("#"), Some("!")) => 2,
        _ => return None,
    };
    let is_doc = text(open) == Some("[") && text(open + 1) == Some("doc") && text(open + 2) == Some("=");
    let depth = tokens.get(open).filter(|_| is_doc)?.depth;
    let close = tokens[open + 1..].iter().position(|token| token.text == "]" && token.depth == depth)?;
    Some(open + close + 2)
}

/// The functions with a body, those of macros among them.
fn functions(path: &str, tokens: &[&Token]) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if keyword.text != "fn" || !keyword.is_word || !name.is_word || keyword.in_test {
            continue;
        }
        if let Some(length) = length(&tokens[at..]) {
            let (path, name) = (path.to_owned(), name.text.clone());
            found.push(Function { path, line: keyword.line, name, tokens: length });
        }
    }
    found
}

/// Tokens from `fn` to the end of the body; nothing for a function without one.
fn length(tokens: &[&Token]) -> Option<usize> {
    let depth = tokens.first()?.depth;
    let level = |token: &&&Token| token.depth == depth && matches!(token.text.as_str(), "{" | ";");
    let (begin, first) = tokens.iter().enumerate().find(|(_, token)| level(token))?;
    if first.text == ";" {
        return None;
    }
    let end = tokens[begin..].iter().position(|token| token.depth == depth && token.text == "}")?;
    Some(begin + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, text: &str) -> Source {
        Source::parse(path, text.to_owned()).expect("the snippet is Rust")
    }

    #[test]
    fn comments_docs_and_tests_do_not_count() {
        let text = "//! Head.\n\n/// Doc.\n#[inline] // 4 tokens\nfn a(x: u8) -> u8 {\n    /* no */ x + 1\n}\n\
                    #[cfg(test)]\nmod tests { fn c() { d(); } }\nconst S: &str = \"one string\";\n";
        let counted =
            count(&[parse("crates/ir/src/x.rs", text), parse("crates/ir/src/tests.rs", "fn t() {}")]);
        // `#[inline]` 4, `fn a(x: u8) -> u8 { x + 1 }` 15, `const S: &str = "…";` 8.
        assert_eq!((counted.tokens, counted.summary.tokens, counted.summary.count), (27, 15, 1));
        assert_eq!(
            counted.functions[0],
            Function { path: "crates/ir/src/x.rs".into(), line: 5, name: "a".into(), tokens: 15 }
        );
        assert_eq!(counted.crates["crates/ir"], 27);
    }

    #[test]
    fn functions_are_measured_by_their_own_braces() {
        let text = "trait T {\n fn none(&self);\n fn some(&self) -> [u8; 2] { [1, 2] }\n}\nfn outer() { fn inner() { g(); } }\n\
                    m! { fn made() { h() } }\n";
        let counted = count(&[parse("crates/opt/src/x.rs", text)]);
        let sizes: Vec<(&str, usize)> =
            counted.functions.iter().map(|f| (f.name.as_str(), f.tokens)).collect();
        assert_eq!(sizes, [("some", 20), ("outer", 16), ("inner", 10), ("made", 9)]);
        assert_eq!(counted.middle, counted.tokens);
    }

    #[test]
    fn shares_and_tenths() {
        let of = |tokens| Function { path: String::new(), line: 1, name: String::new(), tokens };
        let all: Vec<Function> = (1..=9).map(|_| of(100)).chain([of(300)]).collect();
        let summary = Functions::of(&all);
        assert_eq!((summary.median, summary.ninth_tenth, summary.largest), (100, 100, 300));
        assert_eq!(summary.long_share(), 250);
        assert_eq!(Functions::of(&[]).long_share(), 0);
    }
}
