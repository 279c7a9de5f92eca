//! What a pass or a lowering must know of an op is a method of `OpDef`, not a match: see ARCHITECTURE.md.
//!
//! Within the packages that compile and run programs no path means a variant of `pumice_ir::Op`, but for the leaves of
//! a program; in a pass those ops may be named that its header names. Nor is an op recognized by its name as text, or
//! by a downcast. Paths are resolved: another enum of that name is no matter.

use super::resolve::{Names, paths};
use super::source::{CodeKind, Source, Token};
use super::{Findings, Tree};
use crate::failure::Outcome;
use crate::op_table;

/// Where nothing but leaves is named.
const PACKAGES: [&str; 6] = ["ir", "opt", "plan", "compile", "runtime", "vulkan"];
/// The leaves of a program's interface, and its data.
const LEAVES: [&str; 5] = ["Input", "Param", "Constant", "State", "Scalar"];
/// Ways to ask a value what type it has.
const DOWNCASTS: [&str; 5] = ["downcast", "downcast_ref", "downcast_mut", "type_id", "TypeId"];
/// The enum; `for_each_op!` makes it.
const OP: [&str; 3] = ["pumice_ir", "ops", "Op"];

/// Reports ops that are told apart by hand.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let ops: Vec<String> = op_table::read(tree.checkout)?.into_iter().map(|row| row.name).collect();
    let names = Names::new(&tree.sources, &[&OP]);
    for source in tree.sources.iter().filter(|s| s.kind == CodeKind::Library && is_bound(&s.path)) {
        let header = header(source);
        let named = |op: &str| source.path.starts_with("crates/opt/") && header.iter().any(|word| word == op);
        for written in paths(source) {
            for meaning in names.meanings(&source.path, &written.path) {
                let Some(variant) = variant(&meaning) else { continue };
                let is_op = variant == "*" || ops.iter().any(|op| op == variant);
                if is_op && !LEAVES.contains(&variant) && !named(variant) {
                    let message = format!(
                        "Op::{variant} is told apart by hand: make it a method of OpDef, or name the op in the pass's header"
                    );
                    findings.at(&source.path, written.line, message);
                }
            }
        }
        told_by_name(source, findings);
        downcasts(source, findings);
    }
    Ok(())
}

fn is_bound(path: &str) -> bool {
    PACKAGES.iter().any(|package| path.starts_with(&format!("crates/{package}/src/")))
}

/// The variant that a path means, if it means one: `*` for all of them.
fn variant(path: &[String]) -> Option<&str> {
    match path {
        [enum_ @ .., variant] if enum_ == OP => Some(variant),
        [a, b, c, variant, ..] if [a, b, c] == OP => Some(variant),
        _ => None,
    }
}

/// The words of the file's `//!` lines.
fn header(source: &Source) -> Vec<String> {
    let lines = source.text.lines().filter_map(|line| line.strip_prefix("//!"));
    let is_break = |c: char| !c.is_alphanumeric() && c != '_';
    lines.flat_map(|line| line.split(is_break).map(str::to_owned)).collect()
}

/// Reports `op.name()` that is compared with text, in a `match` or by `==`.
fn told_by_name(source: &Source, findings: &mut Findings) {
    let tokens = source.library_tokens();
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    for at in 0..tokens.len() {
        let call = ["op", ".", "name", "(", ")"];
        if !call.iter().enumerate().all(|(i, word)| text(at + i) == *word) {
            continue;
        }
        let after = at + call.len();
        let is_text = |i: usize| text(i).starts_with('"');
        let compared = matches!(text(after), "=" | "!") && text(after + 1) == "=";
        let matched = text(after) == "{" || (text(after) == "," && is_text(after + 1));
        if compared || matched || compared_before(&tokens, at) {
            findings.at(
                &source.path,
                tokens[at].line,
                "an op is known by its name as text: make it a method of OpDef",
            );
        }
    }
}

/// Whether `… ==` stands before the expression that ends in this token.
fn compared_before(tokens: &[&Token], end: usize) -> bool {
    let belongs = |t: &&&Token| t.is_word || matches!(t.text.as_str(), "." | "&" | "*" | "(" | ")");
    let mut before = tokens[..end].iter().rev().skip_while(belongs).map(|t| t.text.as_str());
    before.next() == Some("=") && matches!(before.next(), Some("=" | "!"))
}

fn downcasts(source: &Source, findings: &mut Findings) {
    for token in source.library_tokens() {
        if token.is_word && DOWNCASTS.contains(&token.text.as_str()) {
            findings.at(&source.path, token.line, "a downcast replaces a match over types: make it a method");
        }
    }
}
