//! How text is cut into words before merging: one rule per name in `tokenizer.ggml.pre`.
//!
//! A vocabulary was trained with one rule; with another the same text gives tokens that the model never saw. The names
//! and rules are a table (`pre_tokenizer_rules`); here a rule becomes steps of the `tokenizers` crate.

use super::error::TextError;
use super::pre_tokenizer_rules::{ROWS, Rule};
use tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// A rule for cutting text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreTokenizer(&'static Rule);

impl PreTokenizer {
    /// The rule of a name in `tokenizer.ggml.pre`.
    ///
    /// # Errors
    /// A name that is not known, with those that are.
    pub fn named(pre: &str) -> Result<PreTokenizer, TextError> {
        let found = ROWS.iter().find(|(names, _)| names.contains(&pre));
        found.map(|(_, rule)| PreTokenizer(rule)).ok_or_else(|| TextError::PreTokenizer {
            pre: pre.chars().take(80).collect(),
            known: ROWS.iter().flat_map(|(names, _)| *names).copied().collect(),
        })
    }

    /// Whether a word that is a token stays whole, whatever its merges would make of it.
    pub(super) fn keeps_whole_words(self) -> bool {
        self.0.keeps_whole_words
    }

    /// Whether a text begins with the token for it where the file does not say so: as llama.cpp has it for these rules.
    pub fn adds_bos(self) -> bool {
        self.0.adds_bos
    }

    /// The rule as the `tokenizers` crate has it: cuts, then writes bytes as characters.
    pub(super) fn rule(self) -> tokenizers::Result<PreTokenizerWrapper> {
        let mut steps = Vec::with_capacity(self.0.cuts.len() + 1);
        for cut in self.0.cuts {
            let pattern = SplitPattern::Regex((*cut).to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
            steps.push(PreTokenizerWrapper::Split(split));
        }
        steps.push(PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, false)));
        Ok(PreTokenizerWrapper::Sequence(Sequence::new(steps)))
    }
}

#[cfg(test)]
mod tests {
    use super::{PreTokenizer, ROWS};
    use std::collections::BTreeSet;

    #[test]
    fn each_name_has_one_rule_that_can_be_made() {
        let names: Vec<&str> = ROWS.iter().flat_map(|(names, _)| *names).copied().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert!(PreTokenizer::named(name).is_ok_and(|rule| rule.rule().is_ok()), "{name}");
        }
    }
}
