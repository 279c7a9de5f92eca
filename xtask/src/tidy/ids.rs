//! No default hides a missing id: a place in a list that was not found is an error or an option, never the first one.

use super::source::{Source, Token};
use super::{Findings, Tree};
use crate::failure::Outcome;

const SEARCHES: [&str; 2] = ["position", "rposition"];
const DEFAULTS: [&str; 2] = ["unwrap_or", "unwrap_or_default"];

/// Reports searches whose failure becomes a number, and ids with a default.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in &tree.sources {
        let tokens = source.library_tokens();
        for index in 0..tokens.len() {
            if is_hidden(&tokens, index) {
                let message = "what is not found becomes an index: return an error or an Option";
                findings.at(&source.path, tokens[index].line, message);
            }
        }
        defaults(source, findings);
    }
    Ok(())
}

/// Whether `.unwrap_or(` begins here, right after `.position(…)`.
fn is_hidden(tokens: &[&Token], index: usize) -> bool {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let default = text(index) == "." && DEFAULTS.contains(&text(index + 1)) && text(index + 2) == "(";
    let Some(close) = index.checked_sub(1).filter(|&i| default && text(i) == ")") else { return false };
    let opens = |i: &usize| text(*i) == "(" && tokens[*i].depth == tokens[close].depth;
    let open = (0..close).rev().find(opens);
    open.and_then(|i| i.checked_sub(1)).is_some_and(|i| SEARCHES.contains(&text(i)))
}

fn defaults(source: &Source, findings: &mut Findings) {
    for item in &source.syntax.items {
        let syn::Item::Struct(item) = item else { continue };
        let derives = |a: &syn::Attribute| match &a.meta {
            syn::Meta::List(list) => {
                list.path.is_ident("derive") && list.tokens.to_string().split(", ").any(|d| d == "Default")
            }
            _ => false,
        };
        if item.ident.to_string().ends_with("Id") && item.attrs.iter().any(derives) {
            let message = format!("{} has a default: no id is one", item.ident);
            findings.at(&source.path, item.ident.span().start().line, message);
        }
    }
}
