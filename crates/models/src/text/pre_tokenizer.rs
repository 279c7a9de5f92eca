//! How text is cut into words before merging: one rule per name in `tokenizer.ggml.pre`.
//!
//! A vocabulary was trained with one rule; with another the same text gives tokens that the model never saw.

use super::error::TextError;
use tokenizers::NormalizerWrapper;
use tokenizers::PreTokenizerWrapper;
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// Rules for cutting text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreTokenizer {
    /// Words with the space before them, digits together.
    Gpt2,
    /// As GPT-2, each digit by itself.
    Smollm,
    /// Digits by threes, line breaks kept with what they follow; a word that is a token is not merged.
    Llama3,
    /// As Llama 3 with each digit by itself, after composing characters (NFC); words are merged.
    Qwen2,
}

/// Names in files, with the rule that each means.
const NAMES: [(&str, PreTokenizer); 6] = [
    ("default", PreTokenizer::Gpt2),
    ("gpt-2", PreTokenizer::Gpt2),
    ("smollm", PreTokenizer::Smollm),
    ("llama-bpe", PreTokenizer::Llama3),
    ("llama3", PreTokenizer::Llama3),
    ("qwen2", PreTokenizer::Qwen2),
];

impl PreTokenizer {
    /// The rule of a name in `tokenizer.ggml.pre`.
    pub fn named(pre: &str) -> Result<PreTokenizer, TextError> {
        let found = NAMES.iter().find(|(name, _)| *name == pre).map(|(_, rule)| *rule);
        found.ok_or_else(|| TextError::PreTokenizer {
            pre: pre.chars().take(80).collect(),
            known: NAMES.iter().map(|(name, _)| *name).collect(),
        })
    }

    /// Whether a word that is a token stays whole, whatever its merges would make of it.
    pub(super) fn keeps_whole_words(self) -> bool {
        self == PreTokenizer::Llama3
    }

    /// Whether a text begins with the token for it where the file does not say so: as llama.cpp has it for these rules.
    pub fn adds_bos(self) -> bool {
        self == PreTokenizer::Llama3
    }

    /// What is done to the text before it is cut.
    pub(super) fn normalizer(self) -> Option<NormalizerWrapper> {
        (self == PreTokenizer::Qwen2).then_some(NormalizerWrapper::NFC(NFC))
    }

    /// The rule as the `tokenizers` crate has it: cuts, then writes bytes as characters.
    pub(super) fn rule(self) -> tokenizers::Result<PreTokenizerWrapper> {
        let bytes = |use_regex| PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, use_regex));
        let first = match self {
            PreTokenizer::Gpt2 => return Ok(bytes(true)),
            PreTokenizer::Smollm => PreTokenizerWrapper::Digits(Digits::new(true)),
            PreTokenizer::Llama3 => split(&pattern(r"\p{N}{1,3}"))?,
            PreTokenizer::Qwen2 => split(&pattern(r"\p{N}"))?,
        };
        // After Digits words and spaces still hang together and GPT-2's rule cuts them; the other two have cut all.
        Ok(PreTokenizerWrapper::Sequence(Sequence::new(vec![first, bytes(self == PreTokenizer::Smollm)])))
    }
}

fn split(pattern: &str) -> tokenizers::Result<PreTokenizerWrapper> {
    let pattern = SplitPattern::Regex(pattern.to_owned());
    Ok(PreTokenizerWrapper::Split(Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?))
}

/// Endings, words with one mark before them, numbers, marks with the line breaks after them, line breaks, spaces.
fn pattern(numbers: &str) -> String {
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        numbers,
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
    .join("|")
}
