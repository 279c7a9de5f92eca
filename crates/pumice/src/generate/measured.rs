//! Runs that are measured: a prompt that is read, greedy tokens after it, and nothing around them.

use super::{Conversation, Generator};
use crate::error::Error;
use std::ops::ControlFlow;

impl Generator {
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

    /// That the token chosen last was chosen by a number. Once one was not, none after it is.
    pub(crate) fn check_last(&mut self) -> Result<(), Error> {
        match self.unread.last() {
            Some(&last) => self.check_chosen(self.len() - 1, &[last]),
            None => Ok(()),
        }
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
