//! `plan` declares kernels and holds no figure by which they are chosen: those are data of a target, and the choosing
//! is `compile`'s (DESIGN: choosing kernels).
//!
//! So a family's file names neither `Target` nor its tuning, has no function that chooses, and no number with a
//! fraction. What a plan says about the target it is for, and its floor, are elsewhere in the package. Files that broke
//! the law when it came are listed; the list only shrinks.
//!
//! In `compile` figures of a device are read by `select`, and by `stats`, whose floor is no choice. No other file reads
//! a tuning figure, or asks whether the device is a CPU: what is best there is a row of its table.
//!
//! What a choice is, its declaration says (roles): no file of `compile` compares the name of a kernel or of a
//! variant, or matches on a choice. Names of tables are looked up in one place (`select/read.rs`).

use super::resolve::{Names, paths};
use super::source::{CodeKind, Source};
use super::{Findings, Tree};
use crate::failure::Outcome;

const FAMILIES: &str = "crates/plan/src/kernels/";
/// Where `Target` is defined: naming it there, or by its short name, is naming it.
const TARGETS: [&str; 2] = ["Target", "Tuning"];
/// Lowering, which asks `select`.
const COMPILER: &str = "crates/compile/src/";
/// What may read figures there: the choosing itself, and the floor of a finished plan.
const READERS: [&str; 2] = ["crates/compile/src/select/", "crates/compile/src/stats.rs"];
const CHOOSING: [&str; 3] = ["choose", "select", "best"];

/// Files that still choose.
pub const STILL: &[&str] = &[];

/// Reports figures and choices among kernel declarations.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let names = Names::new(&tree.sources, &[]);
    let families =
        || tree.sources.iter().filter(|s| s.kind == CodeKind::Library && s.path.starts_with(FAMILIES));
    for source in families() {
        let found = choices(&names, source);
        match (STILL.contains(&source.path.as_str()), found.is_empty()) {
            (true, true) => {
                findings.at(&source.path, 1, "it chooses no more: take it out of the list of those that do")
            }
            (true, false) => {}
            (false, _) => found.into_iter().for_each(|(line, what)| {
                findings.at(
                    &source.path,
                    line,
                    format!("{what}: choosing is compile's, figures are a target's"),
                );
            }),
        }
    }
    let reads = |s: &&Source| s.path.starts_with(COMPILER) && !READERS.iter().any(|r| s.path.starts_with(r));
    for source in tree.sources.iter().filter(|s| s.kind == CodeKind::Library).filter(reads) {
        for (line, what) in figures(&names, source) {
            findings.at(
                &source.path,
                line,
                format!("{what}: what is best on a device is a row of its table, read by `select`"),
            );
        }
    }
    for source in tree.sources.iter().filter(|s| s.path.starts_with(COMPILER)) {
        for line in told_apart(source) {
            findings.at(&source.path, line, "kernels are told apart: ask the roles of their declarations");
        }
    }
    for path in STILL.iter().filter(|path| families().all(|s| s.path != **path)) {
        findings.at(path, 1, "it is listed as choosing, and is gone");
    }
    Ok(())
}

/// Lines of `compile` that read figures of a device.
fn figures(names: &Names, source: &Source) -> Vec<(usize, String)> {
    let mut found = named(names, source, &["Tuning"]);
    let tokens = source.library_tokens();
    let reads = tokens.windows(2).filter(|pair| pair[0].text == ".");
    found.extend(reads.filter_map(|pair| match pair[1].text.as_str() {
        "tuning" => Some((pair[1].line, "a tuning figure is read".to_owned())),
        "cpu" => Some((pair[1].line, "it matters whether the device is a CPU".to_owned())),
        _ => None,
    }));
    found
}

/// Lines that tell kernels or variants apart: by the name of a declaration or of a variant, by `match` on a choice.
fn told_apart(source: &Source) -> Vec<usize> {
    let tokens = source.library_tokens();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let compared = |at: usize| ["=", "!"].contains(&text(at)) && text(at + 1) == "=";
    let of_kernel = |at: usize| ["DECL", "decl", "kernel", "variant"].contains(&text(at));
    let named = |at: usize| of_kernel(at) && text(at + 1) == "." && text(at + 2) == "name";
    let by_name = |at: usize| {
        let before = at >= 2 && compared(at - 2);
        named(at) && (text(at) == "DECL" || before || compared(at + 3))
    };
    let on_choice = |at: usize| {
        let matched = tokens[at + 1..].iter().take_while(|token| token.text != "{");
        text(at) == "match" && matched.into_iter().any(|token| token.text == "choice")
    };
    (0..tokens.len()).filter(|&at| by_name(at) || on_choice(at)).map(|at| tokens[at].line).collect()
}

/// Lines that name these types of `pumice_types`.
fn named(names: &Names, source: &Source, types: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for written in paths(source) {
        let meanings = names.meanings(&source.path, &written.path);
        let target = meanings.iter().find_map(|path| match &path[..] {
            [package, .., last] if package == "pumice_types" => types.iter().find(|t| last == *t),
            _ => None,
        });
        found.extend(target.map(|t| (written.line, format!("`{t}` is named"))));
    }
    found
}

/// Lines that choose, or hold what choosing needs.
fn choices(names: &Names, source: &Source) -> Vec<(usize, String)> {
    let mut found = named(names, source, &TARGETS);
    let tokens = source.library_tokens();
    for (at, token) in tokens.iter().enumerate() {
        let after = |word: &str| at > 0 && tokens[at - 1].text == word;
        let chooses =
            || CHOOSING.iter().any(|c| token.text == *c || token.text.starts_with(&format!("{c}_")));
        if after("fn") && chooses() {
            found.push((token.line, format!("fn {} chooses", token.text)));
        } else if after(".") && token.text == "tuning" {
            found.push((token.line, "a tuning figure is read".to_owned()));
        } else if is_fraction(&token.text) {
            found.push((token.line, format!("{} is a figure", token.text)));
        }
    }
    found
}

/// Whether a token is a number with a fraction or an exponent.
fn is_fraction(token: &str) -> bool {
    let is_number = token.starts_with(|c: char| c.is_ascii_digit()) && !token.starts_with("0x");
    is_number
        && (token.contains('.') || token.contains("f32") || token.contains("f64") || token.contains('e'))
}
