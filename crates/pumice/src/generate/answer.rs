//! An answer, token by token, until something ends it.
//!
//! In: a conversation with unread tokens, and a request. Out: pieces of text with their tokens. Greedy tokens of raw
//! logits are chosen on the device, several in one submission; all others on the host, one by one.

use super::conversation::Conversation;
use super::reading::{Listen, tensor, unless_interrupted};
use super::request::{Event, FinishReason, Generated, Piece, Request, Token};
use super::stop::StopTexts;
use super::{log_probs, logits};
use crate::error::Error;
use pumice_models::{DecodeStream, Draws, ModelError, Sampler};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

/// An answer that is being made: an iterator over its pieces. Dropped, the conversation has what came out of it.
pub struct Answer<'c> {
    conversation: &'c mut Conversation,
    /// Whether the device chooses.
    is_on_device: bool,
    log_probs: Option<usize>,
    ends: Vec<u32>,
    /// Tokens that were made and not given yet.
    fresh: VecDeque<Token>,
    /// None where tokens have no text.
    stream: Option<DecodeStream>,
    stops: StopTexts,
    /// Tokens that may still come, and why none comes after them.
    left: usize,
    last: FinishReason,
    end: Option<FinishReason>,
    has_failed: bool,
    /// When the first token was there; before, when the answer was asked for.
    begun: Instant,
    made: Generated,
}

impl<'c> Answer<'c> {
    pub(super) fn new(conversation: &'c mut Conversation, request: &Request) -> Result<Answer<'c>, Error> {
        request.check()?;
        let model = &conversation.model;
        if !request.stop.is_empty() {
            model.text_for("stop")?;
        }
        let sampler = sampler(request, &model.about.ends);
        check_bias(&sampler, model.vocab())?;
        let is_on_device = sampler.is_greedy() && sampler.is_of_raw_logits() && request.log_probs.is_none();
        let ends = if request.ignore_end { Vec::new() } else { model.about.ends.clone() };
        let room = model.about.context - conversation.len();
        let left = request.tokens.min(room);
        let last = if request.tokens <= room { FinishReason::Length } else { FinishReason::Context };
        let stream = model.about.text.as_ref().map(|text| text.tokenizer.stream_after());
        conversation.begin(sampler)?;
        conversation.session.interrupt_by(request.interrupt.clone().unwrap_or_default());
        let mut made = Generated::empty(last);
        made.prompt_kept = conversation.read.len();
        Ok(Answer {
            is_on_device,
            log_probs: request.log_probs,
            ends,
            fresh: VecDeque::new(),
            stream,
            stops: StopTexts::new(&request.stop),
            left,
            last,
            end: None,
            has_failed: false,
            begun: Instant::now(),
            made,
            conversation,
        })
    }

    /// Why it ended, once it has; one that failed did not.
    pub fn end(&self) -> Option<FinishReason> {
        self.end
    }

    /// The whole answer.
    pub(super) fn whole(mut self, listen: &mut Listen<'_>) -> Result<Generated, Error> {
        while let Some(piece) = self.step(listen)? {
            let goes_on = listen(Event::Text(&piece.text)).is_continue();
            self.keep(piece);
            if goes_on || self.end.is_some() {
                continue;
            }
            // Text that was held back is of tokens that came.
            if let Some(rest) = self.rest(FinishReason::Interrupted) {
                let _ = listen(Event::Text(&rest.text));
                self.keep(rest);
            }
        }
        let mut made = std::mem::replace(&mut self.made, Generated::empty(self.last));
        made.end = self.end.unwrap_or(self.last);
        Ok(made)
    }

    fn keep(&mut self, piece: Piece) {
        self.made.text.push_str(&piece.text);
        let Some(token) = piece.token else { return };
        self.made.ids.push(token.id);
        if self.log_probs.is_some() {
            self.made.tokens.push(token);
        }
    }

    /// The next piece, or none after the last.
    fn step(&mut self, listen: &mut Listen<'_>) -> Result<Option<Piece>, Error> {
        if self.end.is_some() || self.has_failed {
            return Ok(None);
        }
        if self.left == 0 {
            return Ok(self.rest(self.last));
        }
        if self.fresh.is_empty() {
            self.make(listen)?;
        }
        let Some(token) = self.fresh.pop_front() else { return Ok(self.rest(FinishReason::Interrupted)) };
        let is_end = self.ends.contains(&token.id);
        self.conversation.take(token.id, is_end, self.is_on_device && self.fresh.is_empty());
        if is_end {
            return Ok(self.rest(FinishReason::Stop));
        }
        self.left -= 1;
        let (text, is_stopped) =
            self.stops.push(&self.stream.as_mut().map_or_else(String::new, |s| s.push(token.id)));
        if is_stopped {
            self.end = Some(FinishReason::StopText);
        }
        Ok(Some(Piece { text, token: Some(token) }))
    }

    /// The answer has ended; the text that was held back is its last piece.
    fn rest(&mut self, end: FinishReason) -> Option<Piece> {
        self.end = Some(end);
        let (mut text, is_stopped) =
            self.stops.push(&self.stream.as_mut().map_or_else(String::new, DecodeStream::flush));
        if is_stopped {
            self.end = Some(FinishReason::StopText);
        } else {
            text.push_str(&self.stops.rest());
        }
        (!text.is_empty()).then_some(Piece { text, token: None })
    }

    /// Makes one token or more; none where that was ended before.
    fn make(&mut self, listen: &mut Listen<'_>) -> Result<(), Error> {
        let is_first = self.made.decoded == 0 && self.made.prompt_time.is_zero();
        let start = Instant::now();
        if is_first {
            self.conversation.model.prepare_for(self.conversation.unread.len(), self.left)?;
            self.made.kernels_time = start.elapsed();
        }
        let before = self.conversation.read.len();
        let made = if !is_first && self.is_on_device && self.conversation.is_last_known {
            self.several()?
        } else {
            self.one(listen)?.into_iter().collect()
        };
        if is_first {
            self.made.prompt_read = self.conversation.read.len() - before;
            self.made.prompt_time = start.elapsed().saturating_sub(self.made.kernels_time);
            self.begun = Instant::now();
        } else {
            self.made.decoded += made.len();
            self.made.decode_time = self.begun.elapsed();
        }
        self.fresh.extend(made);
        Ok(())
    }

    /// The likeliest tokens of one submission; none where it was interrupted.
    fn several(&mut self) -> Result<Vec<Token>, Error> {
        let position = self.conversation.len();
        let steps = self.left.min(self.conversation.model.per_submission);
        let made = unless_interrupted(self.conversation.greedy_steps(steps))?.unwrap_or_default();
        self.conversation.check_chosen(position, &made)?;
        Ok(made.into_iter().map(plain).collect())
    }

    /// Reads what is unread, and chooses the token after it; none where the reading was ended before.
    fn one(&mut self, listen: &mut Listen<'_>) -> Result<Option<Token>, Error> {
        let (model, position) = (&self.conversation.model, self.conversation.len());
        let output = if self.is_on_device { model.next } else { model.logits };
        let Some(output) = self.conversation.read_unread(output, listen)? else { return Ok(None) };
        if self.is_on_device {
            let id = output.to_vec::<i32>().map_err(tensor)?.first().map_or(0, |&id| id as u32);
            self.conversation.check_chosen(position, &[id])?;
            return Ok(Some(plain(id)));
        }
        let logits = output.to_vec::<f32>().map_err(tensor)?;
        let id = self.conversation.draw(&logits).map_err(|e| logits::at(position, e))?;
        Ok(Some(match self.log_probs {
            Some(most) => log_probs::token(&logits, id, most),
            None => plain(id),
        }))
    }
}

impl Iterator for Answer<'_> {
    type Item = Result<Piece, Error>;

    fn next(&mut self) -> Option<Result<Piece, Error>> {
        let piece = self.step(&mut |_| ControlFlow::Continue(())).transpose();
        self.has_failed |= matches!(piece, Some(Err(_)));
        piece
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.conversation.model.prepare_ahead();
    }
}

/// The request's sampler, which never chooses an end where those are ignored.
fn sampler(request: &Request, ends: &[u32]) -> Sampler {
    let mut sampler = request.sampler.clone();
    let never = ends.iter().filter(|_| request.ignore_end).map(|&id| (id, f32::NEG_INFINITY));
    sampler.bias.extend(never);
    sampler
}

/// Refuses a bias of no token before anything is read.
fn check_bias(sampler: &Sampler, vocab: u64) -> Result<(), ModelError> {
    match sampler.bias.iter().find(|(id, _)| u64::from(*id) >= vocab) {
        Some((id, _)) => {
            let problem = format!("there is no token {id}: the model's are 0 to {}", vocab.saturating_sub(1));
            Err(ModelError::Option { option: "logit_bias", problem })
        }
        None => Ok(()),
    }
}

/// A token without its log probability.
fn plain(id: u32) -> Token {
    Token { id, log_prob: None, likeliest: Vec::new() }
}

impl Conversation {
    /// Whatever an answer begins with: draws by this sampler, which go on where it is the one of the answer before, and
    /// a token to read.
    fn begin(&mut self, sampler: Sampler) -> Result<(), Error> {
        if self.is_empty() {
            let problem = "it has no token".to_owned();
            return Err(ModelError::Option { option: "prompt", problem }.into());
        }
        if self.draws.as_ref().is_none_or(|draws| *draws.sampler() != sampler) {
            self.draws = Some(Draws::new(sampler).map_err(ModelError::from)?);
        }
        if self.unread.is_empty() {
            self.unread.extend(self.read.pop());
        }
        Ok(())
    }

    /// Draws the token after those that are read.
    fn draw(&mut self, logits: &[f32]) -> Result<u32, ModelError> {
        let Conversation { draws, read, .. } = self;
        match draws {
            Some(draws) => Ok(draws.next(logits, read)?),
            None => Ok(Draws::new(Sampler::default())?.next(logits, read)?),
        }
    }

    /// A token came after all others. One that ends the answer is none of the conversation's.
    fn take(&mut self, id: u32, is_end: bool, is_last_known: bool) {
        // It could only be chosen after they were read.
        self.read.append(&mut self.unread);
        if !is_end {
            self.unread.push(id);
        }
        self.is_last_known = is_last_known && !is_end;
    }
}
