//! Extents become bytes in one place: `Encoding::bytes` for what users and files see, `Storage::unit` for where
//! elements lie.
//!
//! So the width of an element (`natural_bytes`, `arena_bytes`) may be compared, and may cut one element out of bytes;
//! it is no factor, and no name holds it that could be one. Their homes are `crates/types` and
//! `crates/plan/src/view.rs`.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprMethodCall};

use super::source::{CodeKind, Source};
use super::{Findings, Tree};
use crate::failure::Outcome;

const WIDTHS: [&str; 2] = ["natural_bytes", "arena_bytes"];
const ALLOWED: [&str; 2] = ["crates/types/", "crates/plan/src/view.rs"];
/// Methods that cut bytes into elements.
const CUTS: [&str; 3] = ["chunks", "chunks_exact", "chunks_exact_mut"];

/// Reports widths of elements that could become a number of bytes.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let is_bound = |s: &&Source| {
        s.kind == CodeKind::Library && !ALLOWED.iter().any(|allowed| s.path.starts_with(allowed))
    };
    for source in tree.sources.iter().filter(is_bound) {
        let mut widths = Widths::default();
        widths.visit_file(&source.syntax);
        let mut lines: BTreeSet<usize> =
            widths.found.difference(&widths.allowed).map(|&(line, _)| line).collect();
        lines.extend(factors_in_macros(source));
        let shipped: BTreeSet<usize> = source.library_tokens().iter().map(|t| t.line).collect();
        for line in lines.intersection(&shipped) {
            let message = "the width of an element may only be compared: bytes come from Encoding::bytes and Storage::unit";
            findings.at(&source.path, *line, message);
        }
    }
    Ok(())
}

/// Where a call stands: line and column.
type LineColumn = (usize, usize);

#[derive(Default)]
struct Widths {
    found: BTreeSet<LineColumn>,
    allowed: BTreeSet<LineColumn>,
}

impl Widths {
    /// Allows the call that an expression is, under parentheses and casts.
    fn allow(&mut self, expr: &Expr) {
        match expr {
            Expr::Paren(inner) => self.allow(&inner.expr),
            Expr::Cast(inner) => self.allow(&inner.expr),
            Expr::MethodCall(call) => self.allowed.extend(width(call)),
            _ => {}
        }
    }

    /// Allows what bounds a range, also as what is left of a number.
    fn allow_bound(&mut self, expr: &Expr) {
        if let Expr::Range(range) = expr {
            range.start.iter().chain(&range.end).for_each(|bound| match &**bound {
                Expr::Binary(e) if matches!(e.op, BinOp::Sub(_)) => self.allow(&e.right),
                other => self.allow(other),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Widths {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(e) if is_comparison(&e.op) => {
                self.allow(&e.left);
                self.allow(&e.right);
            }
            Expr::Match(e) => self.allow(&e.expr),
            Expr::Index(e) => self.allow_bound(&e.index),
            Expr::MethodCall(call) => {
                self.found.extend(width(call));
                if CUTS.iter().any(|cut| call.method == cut) {
                    call.args.iter().for_each(|arg| self.allow(arg));
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

fn width(call: &ExprMethodCall) -> Option<LineColumn> {
    let start = call.method.span().start();
    WIDTHS.iter().any(|w| call.method == w).then_some((start.line, start.column))
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

/// Lines where a width stands beside `*` or `/` within a macro, which is no syntax tree.
fn factors_in_macros(source: &Source) -> Vec<usize> {
    let mut macros = Macros(Vec::new());
    macros.visit_file(&source.syntax);
    macros.0
}

struct Macros(Vec<usize>);

impl<'ast> Visit<'ast> for Macros {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let text = call.tokens.to_string();
        let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let after = |w: &str| dense.contains(&format!(".{w}()*")) || dense.contains(&format!(".{w}()/"));
        if WIDTHS.iter().any(|w| after(w)) {
            self.0.push(call.bang_token.span.start().line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = syn::parse_file(&format!("fn f() {{\n{text}\n}}")).expect("the snippet is Rust");
        let mut widths = Widths::default();
        widths.visit_file(&file);
        widths.found.difference(&widths.allowed).map(|&(line, _)| line - 1).collect()
    }

    #[test]
    fn widths_are_compared_and_cut_but_no_factors() {
        assert!(lines("d.natural_bytes() <= 2 && 8 == x.ty(a).dtype().arena_bytes();").is_empty());
        assert!(
            lines("b.chunks_exact(d.natural_bytes() as usize); i[..d.natural_bytes() as usize];").is_empty()
        );
        assert!(lines("i[8 - d.natural_bytes() as usize..];").is_empty());
        for wrong in [
            "n * d.natural_bytes();",
            "(n * d.natural_bytes()) == 4;",
            "n.checked_mul(d.natural_bytes());",
            "let width = d.arena_bytes();",
            "let place = (span, d.natural_bytes());",
            "e.iter().try_fold(d.natural_bytes(), f);",
            "i[..n * d.natural_bytes() as usize];",
            "g(d.natural_bytes());",
        ] {
            assert_eq!(lines(wrong), [1], "{wrong}");
        }
    }
}
