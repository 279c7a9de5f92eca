//! SentencePiece's BPE from a GGUF file, with the ids that llama.cpp gives.
//!
//! Tokens that stand in the text in full are taken out; a space is put before each piece of text that begins the whole
//! or follows such a token, where the vocabulary has it so; spaces become ▁; then pieces are merged by their scores.
//! No spaces are removed and no character is changed: `remove_extra_whitespaces` and `precompiled_charsmap` of a file
//! mean nothing to this kind in llama.cpp either. In one thing this differs: no merging makes a control token or the
//! unknown one, so a text of a user cannot.

use super::encoder::{Encoder, Place};
use super::error::TextError;
use super::sentencepiece::{Merges, Piece};
use super::specials::{BothSpecials, Fragment};
use super::vocabulary::{Checked, TokenKind, Vocabulary};

/// Pieces with scores, and the tokens that are found before.
pub(super) struct GgufSentencePiece {
    merges: Merges,
    specials: BothSpecials,
    add_space_prefix: bool,
}

impl GgufSentencePiece {
    pub fn new(vocabulary: &Vocabulary<'_>, checked: &Checked<'_>) -> Result<GgufSentencePiece, TextError> {
        let scores = scores(vocabulary)?;
        let piece = |(&token, &id): (&&str, &u32)| {
            let kind = checked.kinds[id as usize];
            let piece = Piece { id, score: scores[id as usize], unused: false };
            kind.merges().then(|| (token.to_owned(), piece))
        };
        let bytes = byte_tokens(vocabulary.tokens, &checked.kinds);
        let first_unknown = || checked.kinds.iter().position(|&kind| kind == TokenKind::Unknown);
        let unknown = vocabulary.unknown_token_id.or_else(|| first_unknown().map(|id| id as u32));
        Ok(GgufSentencePiece {
            merges: Merges::new(checked.ids.iter().filter_map(piece).collect(), bytes, unknown),
            specials: BothSpecials::new(vocabulary, &checked.kinds)?,
            add_space_prefix: vocabulary.add_space_prefix.unwrap_or(true),
        })
    }
}

impl Encoder for GgufSentencePiece {
    fn encode(&self, text: &str, _: Place, parse_special: bool) -> Result<Vec<u32>, TextError> {
        let mut ids = Vec::new();
        let mut prefix = self.add_space_prefix;
        for fragment in self.specials.fragments(text, parse_special) {
            match fragment {
                Fragment::Token(id) => {
                    ids.push(id);
                    prefix = self.add_space_prefix;
                }
                Fragment::Text(text) => {
                    let text = format!("{}{text}", if prefix { " " } else { "" });
                    ids.extend(self.merges.ids(&text.replace(' ', "▁"), &[])?);
                    prefix = false;
                }
            }
        }
        Ok(ids)
    }

    fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError> {
        Ok(self.specials.control_fragments(text))
    }
}

/// One score a token; a file without has 0 for all.
fn scores(vocabulary: &Vocabulary<'_>) -> Result<Vec<f32>, TextError> {
    let field = "tokenizer.ggml.scores";
    let wrong = |problem| TextError::Vocabulary { field, problem };
    let (scores, tokens) = (vocabulary.scores, vocabulary.tokens.len());
    if scores.is_empty() {
        return Ok(vec![0.0; tokens]);
    }
    if scores.len() != tokens {
        return Err(wrong(format!("has {} entries for {tokens} tokens", scores.len())));
    }
    match scores.iter().position(|score| score.is_nan()) {
        Some(id) => Err(wrong(format!("is NaN at token {id}"))),
        None => Ok(scores.to_vec()),
    }
}

/// The tokens `<0x00>` to `<0xFF>`, where all are there.
pub(super) fn byte_tokens(tokens: &[&str], kinds: &[TokenKind]) -> Option<Box<[u32; 256]>> {
    let mut found = [None; 256];
    for (id, token) in tokens.iter().enumerate().filter(|&(id, _)| kinds[id] == TokenKind::Byte) {
        if let Some(byte) = byte_of(token) {
            found[usize::from(byte)] = Some(id as u32);
        }
    }
    let found: Option<Vec<u32>> = found.into_iter().collect();
    found.and_then(|all| all.try_into().ok())
}

/// The byte that a token of the form `<0x0A>` stands for.
pub(super) fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_byte = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_byte.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}
