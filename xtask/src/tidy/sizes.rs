//! No function over 60 lines outside tests and 100 in them, no file over 700, no shader over 150. Generated files are
//! exempt.
//!
//! Functions that were longer when the law came are listed, each with the lines that it may have; the list only
//! shrinks: an entry that is not needed is a finding, too.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::source::{CodeKind, Source};
use super::{Findings, Tree};
use crate::failure::Outcome;

const FUNCTION_LINES: usize = 60;
const TEST_FUNCTION_LINES: usize = 100;
const FILE_LINES: usize = 700;
const SHADER_LINES: usize = 150;

/// Longer functions: file, name, lines.
pub const LONGER: &[(&str, &str, usize)] = &[];

/// Reports long functions, files and shaders.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in tree.sources.iter().filter(|source| !source.is_generated()) {
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            let message = format!("{lines} lines, at most {FILE_LINES}: split the file");
            findings.at(&source.path, FILE_LINES, message);
        }
        let functions = functions(source);
        for function in &functions {
            let most = most(source, function);
            if function.lines > most {
                let message =
                    format!("fn {} has {} lines, at most {most}: split it", function.name, function.lines);
                findings.at(&source.path, function.line, message);
            }
        }
        for (_, name, lines) in LONGER.iter().filter(|(path, ..)| *path == source.path) {
            let found = functions.iter().filter(|f| f.name == *name).map(|f| f.lines).max().unwrap_or(0);
            if found < *lines {
                let message = format!(
                    "fn {name} has {found} lines: take it out of the list of longer ones, or lower it there"
                );
                findings.at(&source.path, 1, message);
            }
        }
    }
    for (path, name, _) in LONGER.iter().filter(|(path, ..)| tree.sources.iter().all(|s| s.path != *path)) {
        findings.at(path, 1, format!("fn {name} is listed as longer, and its file is gone"));
    }
    for path in tree.files.iter().filter(|path| path.ends_with(".comp") || path.ends_with(".glsl")) {
        let lines = tree.checkout.read(path)?.lines().count();
        if lines > SHADER_LINES {
            let message = format!("{lines} lines, at most {SHADER_LINES}: split the shader");
            findings.at(path, SHADER_LINES, message);
        }
    }
    Ok(())
}

/// How many lines a function may have.
fn most(source: &Source, function: &Function) -> usize {
    let listed = LONGER.iter().find(|(path, name, _)| *path == source.path && *name == function.name);
    match listed {
        Some((.., lines)) => *lines,
        None if function.in_test || source.kind == CodeKind::Test => TEST_FUNCTION_LINES,
        None => FUNCTION_LINES,
    }
}

/// Lengths of the functions of one package that are not tests.
pub struct Lengths {
    /// `crates/ir`.
    pub package: String,
    /// How many there are.
    pub count: usize,
    /// The one in the middle.
    pub median: usize,
    /// Nine of ten are no longer.
    pub p90: usize,
    /// The longest one.
    pub longest: usize,
}

/// Lengths of functions by package: shown, without a law.
pub fn lengths(sources: &[Source]) -> Vec<Lengths> {
    let mut by_package: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for source in sources.iter().filter(|s| s.kind != CodeKind::Test && !s.is_generated()) {
        let package = source.path.split("/src/").next().unwrap_or("").to_owned();
        let shipped = functions(source).into_iter().filter(|f| !f.in_test);
        by_package.entry(package).or_default().extend(shipped.map(|f| f.lines));
    }
    by_package.retain(|_, lines| !lines.is_empty());
    let lengths = by_package.into_iter().map(|(package, mut lines)| {
        lines.sort_unstable();
        let at = |tenth: usize| lines[(lines.len() - 1) * tenth / 10];
        Lengths { package, count: lines.len(), median: at(5), p90: at(9), longest: at(10) }
    });
    lengths.collect()
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
    in_test: bool,
}

fn functions(source: &Source) -> Vec<Function> {
    let mut reader = Reader { found: Vec::new(), in_test: false };
    reader.visit_file(&source.syntax);
    reader.found
}

struct Reader {
    found: Vec<Function>,
    in_test: bool,
}

impl Reader {
    fn note(&mut self, signature: &syn::Signature, body: &syn::Block, attrs: &[syn::Attribute]) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        let in_test = self.in_test || attrs.iter().any(|a| a.path().is_ident("test"));
        let name = signature.ident.to_string();
        self.found.push(Function { name, line: first, lines: last + 1 - first, in_test });
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = |a: &syn::Attribute| match &a.meta {
            syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
            _ => false,
        };
        let before = self.in_test;
        self.in_test |= item.attrs.iter().any(is_test);
        visit::visit_item_mod(self, item);
        self.in_test = before;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block, &item.attrs);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block, &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.note(&item.sig, body, &item.attrs);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::parse("crates/ir/src/x.rs", text.to_owned()).expect("the snippet is Rust")
    }

    #[test]
    fn lengths_count_from_signature_to_brace() {
        let text = "/// Doc.\nfn a() {\n    1;\n}\nimpl X {\n    fn b() {}\n}\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        let found = functions(&source(text));
        let lengths: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines, f.in_test)).collect();
        assert_eq!(lengths, [("a", 2, 3, false), ("b", 6, 1, false), ("c", 10, 1, true)]);
    }

    #[test]
    fn medians_leave_tests_out() {
        let long = format!("fn c() {{\n{}}}\n", "1;\n".repeat(8));
        let test = format!("#[test]\nfn d() {{\n{}}}\n", "1;\n".repeat(80));
        let lengths = lengths(&[source(&format!("fn a() {{}}\nfn b() {{\n}}\n{long}{test}"))]);
        let one = lengths.first().expect("one package");
        assert_eq!(
            (one.package.as_str(), one.count, one.median, one.p90, one.longest),
            ("crates/ir", 3, 2, 2, 10)
        );
    }
}
