//! `plan` declares kernels and holds no figure by which they are chosen: those are data of a target, and the choosing is
//! `compile`'s (DESIGN: choosing kernels).
//!
//! So a family's file names neither `Target` nor its tuning, has no function that chooses, and no number with a fraction. What a
//! plan says about the target it is for, and its floor, are elsewhere in the package. Files that broke the law when it came are
//! listed; the list only shrinks.

use super::resolve::{Names, paths};
use super::source::{Room, Source};
use super::{Findings, Tree};
use crate::failure::Outcome;

const FAMILIES: &str = "crates/plan/src/kernels/";
/// Where `Target` is defined: naming it there, or by its short name, is naming it.
const TARGETS: [&str; 2] = ["Target", "Tuning"];
const CHOOSING: [&str; 3] = ["choose", "select", "best"];

/// Files that still choose.
pub const STILL: &[&str] = &[];

/// Reports figures and choices among kernel declarations.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let names = Names::new(&tree.sources, &[]);
    let families = || tree.sources.iter().filter(|s| s.room == Room::Library && s.path.starts_with(FAMILIES));
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
    for path in STILL.iter().filter(|path| families().all(|s| s.path != **path)) {
        findings.at(path, 1, "it is listed as choosing, and is gone");
    }
    Ok(())
}

/// Lines that choose, or hold what choosing needs.
fn choices(names: &Names, source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for written in paths(source) {
        let meanings = names.meanings(&source.path, &written.path);
        let target = meanings.iter().find_map(|path| match &path[..] {
            [package, .., last] if package == "pumice_types" => TARGETS.iter().find(|t| last == *t),
            _ => None,
        });
        found.extend(target.map(|t| (written.line, format!("`{t}` is named"))));
    }
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
