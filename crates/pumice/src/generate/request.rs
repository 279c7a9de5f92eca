//! What is asked of a language model, and what comes back.

use pumice_models::{Message, ModelError, Sampler};
use pumice_runtime::Interrupt;
use std::time::Duration;

/// What an answer begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A text that is taken as it is.
    Text(String),
    /// A conversation, through the model's template; the answer is the assistant's next turn.
    Chat(Vec<Message>),
}

/// How tokens are chosen, how many at most, and what ends them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Tokens at most; the context is a limit as well.
    pub tokens: usize,
    /// How each is chosen.
    pub sampler: Sampler,
    /// Texts that end an answer, wherever the borders of tokens are; they are left out of it.
    pub stop: Vec<String>,
    /// Whether tokens that end an answer are never chosen.
    pub ignore_end: bool,
    /// Gives with each token its log probability, and those of so many of the most probable tokens.
    pub log_probs: Option<usize>,
    /// What may end the answer at any moment, from another thread or a signal's handler: after the submission that is
    /// under way. The conversation then has what came before. It stays set until whoever set it clears it.
    pub interrupt: Option<Interrupt>,
}

impl Default for Request {
    /// The most probable tokens, until the model ends the answer or the context is full.
    fn default() -> Request {
        let sampler = Sampler::default();
        let (tokens, stop) = (usize::MAX, Vec::new());
        Request { tokens, sampler, stop, ignore_end: false, log_probs: None, interrupt: None }
    }
}

impl Request {
    /// Tokens at most.
    #[must_use]
    pub fn tokens(mut self, most: usize) -> Self {
        self.tokens = most;
        self
    }

    /// How each token is chosen.
    #[must_use]
    pub fn sampler(mut self, sampler: Sampler) -> Self {
        self.sampler = sampler;
        self
    }

    /// Texts that end an answer.
    #[must_use]
    pub fn stop<S: Into<String>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
        self.stop = texts.into_iter().map(Into::into).collect();
        self
    }

    /// Whether tokens that end an answer are never chosen.
    #[must_use]
    pub fn ignore_end(mut self, ignore: bool) -> Self {
        self.ignore_end = ignore;
        self
    }

    /// Log probabilities of each token and so many others.
    #[must_use]
    pub fn log_probs(mut self, most: impl Into<Option<usize>>) -> Self {
        self.log_probs = most.into();
        self
    }

    /// Whether some answer could be made so, whatever the model.
    ///
    /// # Errors
    /// [`ModelError::Option`]: a text to stop at is empty, a value of the sampler is out of its range.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.stop.iter().any(String::is_empty) {
            let problem = "a text to stop at is empty".to_owned();
            return Err(ModelError::Option { option: "stop", problem });
        }
        Ok(self.sampler.check()?)
    }

    /// What may end the answer at any moment.
    #[must_use]
    pub fn interrupt(mut self, interrupt: impl Into<Option<Interrupt>>) -> Self {
        self.interrupt = interrupt.into();
        self
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended it.
    Stop,
    /// A text of [`Request::stop`] did.
    StopText,
    /// It has as many tokens as were asked for.
    Length,
    /// The context is full.
    Context,
    /// Whoever listens had enough, or [`Request::interrupt`] was set.
    Interrupted,
}

/// A token with its log probability.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogProb {
    /// The token.
    pub id: u32,
    /// ln of its probability by the model's logits as they are, before penalties and temperature.
    pub log_prob: f32,
}

/// A token of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its number.
    pub id: u32,
    /// Its log probability, where [`Request::log_probs`] asks for it.
    pub log_prob: Option<f32>,
    /// The most probable tokens at its place, the first the most.
    pub likeliest: Vec<TokenLogProb>,
}

/// A piece of an answer as it comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Text that is now certain: whole characters, and no beginning of a text that ends the answer.
    pub text: String,
    /// The token that came; none where only text that was held back is left.
    pub token: Option<Token>,
}

/// What whoever listens hears, and may end each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'t> {
    /// Before each piece of the prompt: tokens of it that were read, of how many.
    Prompt {
        /// Tokens that were read.
        read: usize,
        /// Tokens to read.
        of: usize,
    },
    /// Text that is now certain; empty where a token makes none.
    Text(&'t str),
}

/// An answer with what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its tokens, without one that ends answers. Those of a text of [`Request::stop`] are among them, and stay in the
    /// conversation.
    pub ids: Vec<u32>,
    /// Their text, without one of [`Request::stop`].
    pub text: String,
    /// With [`Request::log_probs`], each token's.
    pub tokens: Vec<Token>,
    /// Why it ended.
    pub end: FinishReason,
    /// Tokens of the prompt that the caches held already.
    pub prompt_kept: usize,
    /// Tokens of the prompt that the session read: all others, unless whoever listens ended the answer before.
    pub prompt_read: usize,
    /// Making the kernels that it needed, before any token was read; those of later answers are there then.
    pub kernels_time: Duration,
    /// From there until the first token was there, or the reading was ended.
    pub prompt_time: Duration,
    /// From there to the last one.
    pub decode_time: Duration,
    /// Tokens that were made in that time, with those that were made past the end.
    pub decoded: usize,
}

impl Generated {
    /// Of which no token is made yet.
    pub(super) fn empty(end: FinishReason) -> Generated {
        Generated {
            ids: Vec::new(),
            text: String::new(),
            tokens: Vec::new(),
            end,
            prompt_kept: 0,
            prompt_read: 0,
            kernels_time: Duration::ZERO,
            prompt_time: Duration::ZERO,
            decode_time: Duration::ZERO,
            decoded: 0,
        }
    }

    /// Tokens a second after the first one; 0 where there was no other.
    pub fn decode_rate(&self) -> f64 {
        rate(self.decoded, self.decode_time)
    }
}

/// So many a second; 0 where no time went by.
pub(super) fn rate(count: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
