//! Byte-level BPE of a GGUF file: tokens that stand in the text in full are taken out, the rest is cut into words by
//! the vocabulary's rule, and the bytes of each word are merged.

use super::encoder::{Encoder, Place};
use super::error::TextError;
use super::pre_tokenizer::PreTokenizer;
use super::specials::{BothSpecials, Fragment};
use super::vocabulary::{Checked, Vocabulary};
use crate::tokenizer::fenced;
use tokenizers::Tokenizer;
use tokenizers::models::bpe::{BPE, Vocab};

/// Words and merges, and the tokens that are found before.
pub(super) struct ByteLevel {
    inner: Tokenizer,
    specials: BothSpecials,
}

impl ByteLevel {
    pub fn new(vocabulary: &Vocabulary<'_>, checked: &Checked<'_>) -> Result<ByteLevel, TextError> {
        let rules = PreTokenizer::named(vocabulary.pre)?;
        let inner = words(checked, rules)?;
        Ok(ByteLevel { inner, specials: BothSpecials::new(vocabulary, &checked.kinds)? })
    }
}

impl Encoder for ByteLevel {
    fn encode(&self, text: &str, _: Place, parse_special: bool) -> Result<Vec<u32>, TextError> {
        let mut ids = Vec::new();
        for fragment in self.specials.fragments(text, parse_special) {
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

    fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError> {
        Ok(self.specials.control_fragments(text))
    }
}

/// Words and merges; control tokens are not in it.
fn words(checked: &Checked<'_>, rules: PreTokenizer) -> Result<Tokenizer, TextError> {
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
        tokenizer.with_pre_tokenizer(Some(rules.rule()?));
        Ok(tokenizer)
    };
    fenced(build).map_err(|problem| TextError::Vocabulary { field: "tokenizer.ggml.merges", problem })
}
