//! Tokens that are found in a text before it is cut into words: control tokens and those that a user defined.

use super::error::TextError;
use super::vocabulary::TokenKind;
use aho_corasick::{AhoCorasick, MatchKind};

/// A fragment of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
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

    /// The text in fragments, in order.
    pub fn fragments<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let mut fragments = Vec::new();
        let mut done = 0;
        // Whole tokens are found in whole text, so a match begins and ends between characters.
        for found in self.finder.iter().flat_map(|finder| finder.find_iter(text)) {
            fragments.extend(text_fragment(&text[done..found.start()]));
            fragments.push(Fragment::Token(self.ids[found.pattern().as_usize()]));
            done = found.end();
        }
        fragments.extend(text_fragment(&text[done..]));
        fragments
    }
}

fn text_fragment(text: &str) -> Option<Fragment<'_>> {
    (!text.is_empty()).then_some(Fragment::Text(text))
}

#[cfg(test)]
mod tests {
    use super::{Fragment, Specials};
    use crate::text::vocabulary::TokenKind::{Control, Normal, UserDefined};

    #[test]
    fn the_first_and_then_the_longest_is_found() {
        let tokens = ["a", "<|x|>", "<|x|>y", "é<"];
        let kinds = [Normal, Control, Control, UserDefined];
        let both = Specials::new(&tokens, &kinds, &[Control, UserDefined]).expect("few tokens");
        let fragments = both.fragments("a<|x|>y<|x|>é<|x|>");
        let rest = Fragment::Text("|x|>");
        assert_eq!(
            fragments,
            [Fragment::Text("a"), Fragment::Token(2), Fragment::Token(1), Fragment::Token(3), rest]
        );
        let none = Specials::new(&tokens, &kinds, &[]).expect("no tokens");
        assert_eq!(none.fragments("<|x|>"), [Fragment::Text("<|x|>")]);
        assert_eq!(none.fragments(""), []);
    }
}
