//! Tokens that are found in a text before it is cut into words: control tokens and those that a user defined.

use super::error::TextError;
use super::vocabulary::TokenKind;
use aho_corasick::{AhoCorasick, MatchKind};

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Text to cut and merge, never empty.
    Text(&'t str),
    /// A token that stands there in full.
    Token(u32),
}

/// Finds tokens in a text: the first, and of those that begin together the longest.
pub(super) struct Specials {
    finder: Option<AhoCorasick>,
    ids: Vec<u32>,
}

impl Specials {
    /// Looks for the tokens of these kinds.
    pub fn new(tokens: &[&str], kinds: &[TokenKind], wanted: &[TokenKind]) -> Result<Specials, TextError> {
        let ids: Vec<usize> = (0..tokens.len()).filter(|&id| wanted.contains(&kinds[id])).collect();
        let build = || {
            let mut builder = AhoCorasick::builder();
            builder.match_kind(MatchKind::LeftmostLongest).build(ids.iter().map(|&id| tokens[id]))
        };
        let finder = if ids.is_empty() { Ok(None) } else { build().map(Some) };
        let finder = finder.map_err(|e| TextError::Vocabulary {
            field: "tokenizer.ggml.token_type",
            problem: format!("names too many control tokens: {e}"),
        })?;
        Ok(Specials { finder, ids: ids.into_iter().map(|id| id as u32).collect() })
    }

    /// The text in parts, in order.
    pub fn parts<'t>(&self, text: &'t str) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let mut done = 0;
        // Whole tokens are found in whole text, so a match begins and ends between characters.
        for found in self.finder.iter().flat_map(|finder| finder.find_iter(text)) {
            parts.extend(text_part(&text[done..found.start()]));
            parts.push(Part::Token(self.ids[found.pattern().as_usize()]));
            done = found.end();
        }
        parts.extend(text_part(&text[done..]));
        parts
    }
}

fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.is_empty()).then_some(Part::Text(text))
}

#[cfg(test)]
mod tests {
    use super::{Part, Specials};
    use crate::text::vocabulary::TokenKind::{Control, Normal, UserDefined};

    #[test]
    fn the_first_and_then_the_longest_is_found() {
        let tokens = ["a", "<|x|>", "<|x|>y", "é<"];
        let kinds = [Normal, Control, Control, UserDefined];
        let both = Specials::new(&tokens, &kinds, &[Control, UserDefined]).expect("few tokens");
        let parts = both.parts("a<|x|>y<|x|>é<|x|>");
        let rest = Part::Text("|x|>");
        assert_eq!(parts, [Part::Text("a"), Part::Token(2), Part::Token(1), Part::Token(3), rest]);
        let none = Specials::new(&tokens, &kinds, &[]).expect("no tokens");
        assert_eq!(none.parts("<|x|>"), [Part::Text("<|x|>")]);
        assert_eq!(none.parts(""), []);
    }
}
