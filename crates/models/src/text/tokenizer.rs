//! Text to token ids and back, by the byte-level BPE that a model was trained with.
//!
//! Three steps, in order: tokens that stand in the text in full are taken out (`specials`), the rest
//! is cut into words ([`PreTokenizer`]), the bytes of each word are merged. Text of a user is encoded with
//! `parse_special` off: then no text can give a control token, and nobody can forge a turn of a conversation.

use super::error::TextError;
use super::pieces::Pieces;
use super::pre_tokenizer::PreTokenizer;
use super::specials::{Fragment, Specials};
use super::stream::DecodeStream;
use super::vocabulary::{Checked, TokenKind, Vocabulary};
use crate::tokenizer::fenced;
use indexmap::IndexMap;
use std::sync::Arc;
use tokenizers::Tokenizer;
use tokenizers::models::bpe::{BPE, Vocab};

/// The tokenizer of a language model.
pub struct TextTokenizer {
    inner: Tokenizer,
    pieces: Arc<Pieces>,
    ids: IndexMap<String, u32>,
    kinds: Vec<TokenKind>,
    /// Control tokens and those that a user defined.
    all: Specials,
    /// Those that a user defined alone: they are text, whoever writes them.
    defined: Specials,
    /// Control tokens alone.
    control: Specials,
    end_of_sequence: Vec<u32>,
    bos: Option<u32>,
    eos: Option<u32>,
    add_bos: bool,
}

impl TextTokenizer {
    /// Makes the tokenizer of a vocabulary.
    ///
    /// # Errors
    /// A kind of tokenizer or rules for words that are not known, and lists that do not fit together.
    pub fn new(vocabulary: &Vocabulary<'_>) -> Result<TextTokenizer, TextError> {
        let checked = vocabulary.check()?;
        let rules = PreTokenizer::named(vocabulary.pre)?;
        let tokens = vocabulary.tokens;
        Ok(TextTokenizer {
            inner: byte_level_bpe(&checked, rules)?,
            pieces: Arc::new(Pieces::new(tokens, &checked.kinds)),
            ids: checked.ids.iter().map(|(&token, &id)| (token.to_owned(), id)).collect(),
            all: Specials::new(tokens, &checked.kinds, &[TokenKind::Control, TokenKind::UserDefined])?,
            defined: Specials::new(tokens, &checked.kinds, &[TokenKind::UserDefined])?,
            control: Specials::new(tokens, &checked.kinds, &[TokenKind::Control])?,
            kinds: checked.kinds,
            end_of_sequence: vocabulary.end_of_sequence(),
            bos: vocabulary.bos_token_id,
            eos: vocabulary.eos_token_id,
            add_bos: vocabulary.add_bos_token,
        })
    }

    /// The ids of a text. With `parse_special` a control token that stands in the text becomes its id, as a rendered
    /// template wants it; without, it is text as any other. Nothing is added before or after.
    ///
    /// A byte that the vocabulary cannot spell is left out, as in training; SmolLM2 lacks six control characters and
    /// the planes of Unicode from 4 on.
    ///
    /// # Errors
    /// A text that the rules for words cannot cut.
    pub fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, TextError> {
        let specials = if parse_special { &self.all } else { &self.defined };
        let mut ids = Vec::new();
        for fragment in specials.fragments(text) {
            match fragment {
                Fragment::Token(id) => ids.push(id),
                Fragment::Text(text) => {
                    let encoding = fenced(|| self.inner.encode_fast(text, false))
                        .map_err(|problem| TextError::Encode { problem })?;
                    ids.extend(encoding.get_ids());
                }
            }
        }
        Ok(ids)
    }

    /// As [`TextTokenizer::encode`], with the token that begins a text where the model wants one and the text has none.
    ///
    /// # Errors
    /// As [`TextTokenizer::encode`].
    pub fn encode_prompt(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, TextError> {
        Ok(self.begun(self.encode(text, parse_special)?))
    }

    /// With the token that begins a text, where the model wants one and there is none.
    pub(super) fn begun(&self, mut ids: Vec<u32>) -> Vec<u32> {
        if let Some(bos) = self.bos.filter(|bos| self.add_bos && ids.first() != Some(bos)) {
            ids.insert(0, bos);
        }
        ids
    }

    /// Finds control tokens.
    pub(super) fn control(&self) -> &Specials {
        &self.control
    }

    /// The texts of all control tokens.
    pub(super) fn control_tokens(&self) -> Vec<&str> {
        let control = self.ids.iter().filter(|&(_, &id)| self.is_control(id));
        control.map(|(token, _)| token.as_str()).collect()
    }

    /// The text of a token.
    pub(super) fn token(&self, id: u32) -> &str {
        // Ids count the tokens in order, each once.
        self.ids.get_index(id as usize).map_or("", |(token, _)| token)
    }

    /// A text in fragments at control tokens and those that a user defined.
    pub(super) fn special_fragments<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        self.all.fragments(text)
    }

    /// The text of ids, control tokens written out. Bytes that no character has and ids that are no token become
    /// U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.pieces.bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Decodes ids as they arrive.
    pub fn stream(&self) -> DecodeStream {
        DecodeStream::new(self.pieces.clone())
    }

    /// The id of a token by its text as the vocabulary spells it.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// Whether this token ends an answer: the file's own, or a control token known to do so.
    pub fn is_end(&self, id: u32) -> bool {
        self.end_of_sequence.contains(&id)
    }

    /// Whether this token is structure and no text.
    pub fn is_control(&self, id: u32) -> bool {
        self.kinds.get(id as usize) == Some(&TokenKind::Control)
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that the file names as ending a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Number of tokens. A model may have logits for more: their rows are padding.
    pub fn vocab_size(&self) -> usize {
        self.kinds.len()
    }
}

impl std::fmt::Debug for TextTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextTokenizer").field("tokens", &self.vocab_size()).finish_non_exhaustive()
    }
}

/// Words and merges; control tokens are not in it.
fn byte_level_bpe(checked: &Checked<'_>, rules: PreTokenizer) -> Result<Tokenizer, TextError> {
    let merging = |id: u32| checked.kinds[id as usize].merges();
    let vocab: Vocab = checked
        .ids
        .iter()
        .filter(|&(_, &id)| merging(id))
        .map(|(&token, &id)| (token.to_owned(), id))
        .collect();
    let merges = checked.merges.iter().map(|&(left, right)| (left.to_owned(), right.to_owned())).collect();
    let build = || {
        let bpe = BPE::builder()
            .vocab_and_merges(vocab, merges)
            .ignore_merges(rules.keeps_whole_words())
            .build()?;
        let mut tokenizer = Tokenizer::new(bpe);
        tokenizer.with_normalizer(rules.normalizer())?;
        tokenizer.with_pre_tokenizer(Some(rules.rule()?));
        Ok(tokenizer)
    };
    fenced(build).map_err(|problem| TextError::Vocabulary { field: "tokenizer.ggml.merges", problem })
}
