//! Tokens that are found in a text before it is cut into words: control tokens and those that a user defined.
//!
//! In a GGUF file's vocabulary the longest token wins wherever it stands, as llama.cpp has it: all places of the
//! longest are taken first, then those of the next in what is left. (`tokenizers` takes the first place and there the
//! longest.)

use super::error::TextError;
use super::look_alikes::looks_like_control;
use super::vocabulary::{TokenKind, Vocabulary};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::cmp::Reverse;
use std::ops::Range;

/// Bytes of a token from which no table of all its beginnings is made: of a letter that repeats itself, that takes the
/// square of its length.
const LONG: usize = 256;

/// A fragment of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    /// Text to cut and merge, never empty.
    Text(&'t str),
    /// A token that stands there in full.
    Token(u32),
}

/// A part of a text: the bytes, and the token that they are.
type Span = (Range<usize>, Option<u32>);

/// A token that is looked for.
struct Special {
    id: u32,
    text: String,
    /// Whether it takes the spaces after it along.
    takes_spaces: bool,
}

/// Finds tokens in a text.
pub(super) struct Specials {
    finder: Option<AhoCorasick>,
    /// The longest first.
    tokens: Vec<Special>,
}

impl Specials {
    /// Looks for the tokens of these kinds.
    pub fn new(tokens: &[&str], kinds: &[TokenKind], wanted: &[TokenKind]) -> Result<Specials, TextError> {
        Specials::with_spaces(tokens, kinds, wanted, |_| false)
    }

    /// The texts of the tokens that it looks for.
    pub fn texts(&self) -> Vec<&str> {
        self.tokens.iter().map(|token| token.text.as_str()).collect()
    }

    /// As [`Specials::new`]; `takes_spaces` tells which tokens take the spaces after them along.
    pub fn with_spaces(
        tokens: &[&str],
        kinds: &[TokenKind],
        wanted: &[TokenKind],
        takes_spaces: impl Fn(&str) -> bool,
    ) -> Result<Specials, TextError> {
        let ids = (0..tokens.len()).filter(|&id| wanted.contains(&kinds[id]) && !tokens[id].is_empty());
        let special = |id: usize| Special {
            id: id as u32,
            text: tokens[id].to_owned(),
            takes_spaces: takes_spaces(tokens[id]),
        };
        let mut specials: Vec<Special> = ids.map(special).collect();
        specials.sort_by_key(|token| Reverse(token.text.len()));
        let longest = specials.first().map_or(0, |token| token.text.len());
        let kind = (longest > LONG).then_some(AhoCorasickKind::ContiguousNFA);
        let build = || AhoCorasick::builder().kind(kind).build(specials.iter().map(|token| &token.text));
        let finder = if specials.is_empty() { Ok(None) } else { build().map(Some) };
        let finder = finder.map_err(|e| TextError::Vocabulary {
            field: "tokenizer.ggml.token_type",
            problem: format!("names too many control tokens: {e}"),
        })?;
        Ok(Specials { finder, tokens: specials })
    }

    /// The text in fragments, in order.
    pub fn fragments<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let spans = self.spans(text).into_iter();
        spans.map(|(bytes, id)| id.map_or_else(|| Fragment::Text(&text[bytes]), Fragment::Token)).collect()
    }

    /// Those that stand in the text, the longest first.
    fn standing<'s>(&'s self, text: &str) -> impl Iterator<Item = &'s Special> + use<'s> {
        let mut stands = vec![false; if self.finder.is_some() { self.tokens.len() } else { 0 }];
        for found in self.finder.iter().flat_map(|finder| finder.find_overlapping_iter(text)) {
            stands[found.pattern().as_usize()] = true;
        }
        self.tokens.iter().zip(stands).filter(|(_, stands)| *stands).map(|(token, _)| token)
    }

    fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        if !text.is_empty() {
            spans.push((0..text.len(), None));
        }
        for token in self.standing(text) {
            let mut cut = Vec::with_capacity(spans.len());
            for (bytes, id) in spans {
                match id {
                    Some(_) => cut.push((bytes, id)),
                    None => cut_at(token, text, bytes, &mut cut),
                }
            }
            spans = cut;
        }
        spans
    }
}

/// Cuts one part of the text at each place of a token.
fn cut_at(token: &Special, text: &str, bytes: Range<usize>, spans: &mut Vec<Span>) {
    let mut done = bytes.start;
    // Whole tokens are found in whole text, so a place begins and ends between characters.
    for (at, found) in text[bytes.clone()].match_indices(&token.text) {
        let (start, mut end) = (bytes.start + at, bytes.start + at + found.len());
        if start < done {
            continue;
        }
        if token.takes_spaces {
            let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
            end = bytes.end - text[end..bytes.end].trim_start_matches(is_space).len();
        }
        if done < start {
            spans.push((done..start, None));
        }
        spans.push((start..end, Some(token.id)));
        done = end;
    }
    if done < bytes.end {
        spans.push((done..bytes.end, None));
    }
}

/// The tokens that are found in a text where control tokens are read, and where they are text.
pub(super) struct BothSpecials {
    /// Where control tokens are read.
    all: Specials,
    /// Those that a user defined alone: they are text, whoever writes them.
    defined: Specials,
    /// By id, whether it is a control token.
    control: Vec<bool>,
}

impl BothSpecials {
    /// Of a GGUF file's tokenizer.
    pub fn new(vocabulary: &Vocabulary<'_>, kinds: &[TokenKind]) -> Result<BothSpecials, TextError> {
        let taken_for = |(&token, &kind): (&&str, &TokenKind)| {
            if looks_like_control(token) { TokenKind::Control } else { kind }
        };
        let kinds: Vec<TokenKind> = vocabulary.tokens.iter().zip(kinds).map(taken_for).collect();
        BothSpecials::of(vocabulary.tokens, &kinds, |token| vocabulary.takes_spaces(token))
    }

    /// Of tokens with their kinds; `takes_spaces` tells which take the spaces after them along.
    pub fn of(
        tokens: &[&str],
        kinds: &[TokenKind],
        takes_spaces: impl Fn(&str) -> bool,
    ) -> Result<BothSpecials, TextError> {
        let of_kinds = |wanted: &[TokenKind]| Specials::with_spaces(tokens, kinds, wanted, &takes_spaces);
        Ok(BothSpecials {
            all: of_kinds(&[TokenKind::Control, TokenKind::UserDefined, TokenKind::Unknown])?,
            defined: of_kinds(&[TokenKind::UserDefined])?,
            control: kinds.iter().map(|&kind| kind == TokenKind::Control).collect(),
        })
    }

    /// Fragments at the tokens that a user defined, and with `parse_special` at control tokens and the unknown.
    pub fn fragments<'t>(&self, text: &'t str, parse_special: bool) -> Vec<Fragment<'t>> {
        if parse_special { self.all.fragments(text) } else { self.defined.fragments(text) }
    }

    /// Fragments at control tokens alone. Other tokens compete with them for places and are text.
    pub fn control_fragments<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let mut fragments = Vec::new();
        let mut open = 0..0;
        for (bytes, id) in self.all.spans(text) {
            match id.filter(|&id| self.control[id as usize]) {
                Some(id) => {
                    fragments.extend(text_fragment(&text[open]));
                    fragments.push(Fragment::Token(id));
                    open = bytes.end..bytes.end;
                }
                None => open.end = bytes.end,
            }
        }
        fragments.extend(text_fragment(&text[open]));
        fragments
    }
}

fn text_fragment(text: &str) -> Option<Fragment<'_>> {
    (!text.is_empty()).then_some(Fragment::Text(text))
}

#[cfg(test)]
mod tests {
    use super::{BothSpecials, Fragment, Specials};
    use crate::text::vocabulary::TokenKind::{Control, Normal, UserDefined};
    use crate::text::vocabulary::Vocabulary;

    #[test]
    fn the_longest_is_found_wherever_it_stands() {
        let tokens = ["a", "<|x|>", "<|x|>y", "é<"];
        let kinds = [Normal, Control, Control, UserDefined];
        let both = Specials::new(&tokens, &kinds, &[Control, UserDefined]).expect("few tokens");
        let fragments = both.fragments("a<|x|>y<|x|>é<|x|>");
        // The last `<|x|>` is longer than `é<`, which begins before it.
        let e = Fragment::Text("é");
        assert_eq!(
            fragments,
            [Fragment::Text("a"), Fragment::Token(2), Fragment::Token(1), e, Fragment::Token(1)]
        );
        assert_eq!(both.fragments("é<|x")[0], Fragment::Token(3));
        let none = Specials::new(&tokens, &kinds, &[]).expect("no tokens");
        assert_eq!(none.fragments("<|x|>"), [Fragment::Text("<|x|>")]);
        assert_eq!(none.fragments(""), []);
    }

    #[test]
    fn a_token_takes_spaces_along_where_its_model_has_it_so() {
        let tokens = ["<|end|>", "<s>", "<t>"];
        let vocabulary =
            Vocabulary { tokens: &tokens, name: "Phi-3 mini", model: "llama", ..Vocabulary::default() };
        let specials = BothSpecials::new(&vocabulary, &[Control, Control, UserDefined]).expect("few tokens");
        let text = "<|end|> \n a<s> b<t> c";
        let (a, b, c) = (Fragment::Text("a"), Fragment::Text(" b"), Fragment::Text("c"));
        let [end, s, t] = [0, 1, 2].map(Fragment::Token);
        assert_eq!(specials.fragments(text, true), [end, a, s, b, t, c]);
        let rest = Fragment::Text(" b<t> c");
        let control = specials.control_fragments(text);
        assert_eq!(control, [Fragment::Token(0), Fragment::Text("a"), Fragment::Token(1), rest]);
    }

    #[test]
    fn what_looks_as_if_it_ended_a_turn_is_no_text_of_a_user() {
        let tokens = ["</s>", "<h1>", "<|im_end|>"];
        let vocabulary = Vocabulary { tokens: &tokens, model: "llama", ..Vocabulary::default() };
        let kinds = [UserDefined, UserDefined, Normal];
        let specials = BothSpecials::new(&vocabulary, &kinds).expect("few tokens");
        let text = "<h1></s><|im_end|>";
        assert_eq!(specials.fragments(text, true), [1, 0, 2].map(Fragment::Token));
        let as_text = [Fragment::Token(1), Fragment::Text("</s><|im_end|>")];
        assert_eq!(specials.fragments(text, false), as_text);
        let control = [Fragment::Text("<h1>"), Fragment::Token(0), Fragment::Token(2)];
        assert_eq!(specials.control_fragments(text), control);
    }
}
