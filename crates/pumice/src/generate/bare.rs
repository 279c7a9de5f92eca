//! A language model without its text side, for measuring: tokens go in and come out as numbers. No vocabulary is
//! needed, and no token ends a text.

use super::loaded::TextSide;
use super::{Conversation, GenerateOptions, Generator};
use crate::device::Device;
use crate::error::Error;
use pumice_models::{
    ChatTemplates, Fingerprint, LanguageModel, ModelError, SuggestedSampling, TextTokenizer, Vocabulary,
};
use std::ops::ControlFlow;

impl Generator {
    /// As [`Generator::open`], of a model that was opened, with a vocabulary that says nothing.
    pub(crate) fn bare(
        mut model: LanguageModel,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        model.config.end_of_sequence.clear();
        let vocabulary =
            Vocabulary { model: "gpt2", pre: "default", tokens: &["-"], ..Vocabulary::default() };
        let text = TextSide {
            tokenizer: TextTokenizer::new(&vocabulary).map_err(ModelError::from)?,
            ends: Vec::new(),
            templates: ChatTemplates::default(),
            chat: options.chat.clone(),
            suggested: SuggestedSampling::default(),
            fingerprint: Fingerprint::default(),
            notes: std::mem::take(&mut model.notes),
        };
        let sizes = (model.config.capacity, model.config.max_new);
        Generator::new(&model.model()?, text, sizes, device, options, progress)
    }

    /// Tokens of the vocabulary.
    pub(crate) fn vocab(&self) -> u64 {
        self.model.vocab()
    }
}

impl Conversation {
    /// Tokens whose keys and values the caches hold.
    pub(crate) fn rows_read(&self) -> usize {
        self.read.len()
    }

    /// Reads what was pushed. The likeliest token after it, which the device chooses, becomes the next one.
    pub(crate) fn read_to_next(&mut self) -> Result<(), Error> {
        let next = self.read_unread(self.model.next, &mut |_| ControlFlow::Continue(()))?;
        let next = next.map(|next| next.to_vec::<i32>()).transpose().map_err(super::reading::tensor)?;
        // As a submission has it: the device knows the token.
        self.unread.extend(next.unwrap_or_default().iter().map(|&id| id as u32));
        self.is_last_known = true;
        Ok(())
    }

    /// After [`Conversation::read_to_next`]: so many tokens more, as many in a submission as in an answer. Nothing is
    /// drawn on the host, and no text is made.
    pub(crate) fn likeliest(&mut self, tokens: usize) -> Result<(), Error> {
        let mut left = tokens;
        while left > 0 {
            let made = self.greedy_steps(left.min(self.model.per_submission))?;
            if made.is_empty() {
                // No token ends this text.
                break;
            }
            left -= made.len().min(left);
            self.read.append(&mut self.unread);
            self.read.extend(&made);
            self.unread.extend(self.read.pop());
        }
        Ok(())
    }
}
