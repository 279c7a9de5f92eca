//! Nothing a user can pass causes a panic, and libraries do not print. A panic that cannot happen is an
//! `expect` that says why.

use super::source::Token;
use super::{Findings, Tree};
use crate::failure::Outcome;

const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];
const UNWRITTEN: [&str; 2] = ["todo", "unimplemented"];

/// Reports unproved panics and printing in libraries.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in &tree.sources {
        let tokens = source.library_tokens();
        for index in 0..tokens.len() {
            if let Some(message) = judge(&tokens[index..]) {
                findings.at(&source.path, tokens[index].line, message);
            }
        }
    }
    Ok(())
}

fn judge(tokens: &[&Token]) -> Option<String> {
    let text = |n: usize| tokens.get(n).map_or("", |token| token.text.as_str());
    let first = text(0);
    if first == "." && text(1) == "unwrap" && text(2) == "(" && text(3) == ")" {
        return Some("unwrap() in a library: return a typed error, or expect(\"why it holds\")".to_owned());
    }
    if first == "." && text(1) == "expect" && text(2) == "(" && text(3) == "\"\"" {
        return Some("expect without its reason".to_owned());
    }
    if text(1) != "!" {
        return None;
    }
    match first {
        name if UNWRITTEN.contains(&name) => Some(format!("{name}! in a library")),
        name if PRINTING.contains(&name) => Some(format!("{name}! in a library: libraries do not print")),
        "panic" => Some("panic! in a library: return a typed error".to_owned()),
        "unreachable" if text(3) == ")" => Some("unreachable! without its reason".to_owned()),
        _ => None,
    }
}
