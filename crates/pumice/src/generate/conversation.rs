//! A text that goes on: tokens whose keys and values the caches hold, and tokens that are to be read.
//!
//! In: a loaded model with a session of its own. Out: answers; the session's caches follow the tokens. Rows of the
//! caches beyond the tokens that are read mean nothing: to go back is to forget them.

use super::answer::Answer;
use super::loaded::{CACHE_ROWS, LoadedModel};
use super::request::{Event, Generated, Request};
use crate::error::Error;
use pumice_models::{Draws, EncodedTexts, Message, ModelError};
use pumice_runtime::{Executable, Session, StateRows};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A conversation with a language model, or any other text that it goes on with.
///
/// One loaded model has many of them: they share its weights, and each has caches of its own.
///
/// ```
/// use pumice::generate::{GenerateOptions, Generator, Request};
/// use pumice::Device;
///
/// let generator = Generator::seeded(1, &Device::cpu(), &GenerateOptions::default())?;
/// let mut one = generator.conversation()?;
/// one.push(&[72, 101, 108])?;
/// let mut other = one.fork()?;
/// let ids: Vec<u32> = one.answer(&Request::default().tokens(4))?.map(|piece| Ok(piece?.token.map(|t| t.id)))
///     .collect::<Result<Vec<_>, pumice::Error>>()?.into_iter().flatten().collect();
/// // The same tokens again, from the same place.
/// one.rewind(3)?;
/// assert_eq!(one.generate(&Request::default().tokens(4), |_| std::ops::ControlFlow::Continue(()))?.ids, ids);
/// assert_eq!(other.generate(&Request::default().tokens(4), |_| std::ops::ControlFlow::Continue(()))?.ids, ids);
/// # Ok::<(), pumice::Error>(())
/// ```
pub struct Conversation {
    pub(super) model: Arc<LoadedModel>,
    pub(super) session: Session,
    /// Tokens whose keys and values the caches hold.
    pub(super) read: Vec<u32>,
    /// Tokens after them.
    pub(super) unread: Vec<u32>,
    /// Rows where the session goes on; none where that is not known.
    pub(super) rows: Option<usize>,
    /// Whether the last token is the one that the device chose last, so that it need not be told.
    pub(super) is_last_known: bool,
    pub(super) draws: Option<Draws>,
    pub(super) messages: Vec<Message>,
    /// What the texts of its last turn became.
    pub(super) texts: EncodedTexts,
}

impl Conversation {
    pub(super) fn new(model: Arc<LoadedModel>) -> Result<Conversation, Error> {
        let session = model.exe.session()?;
        Ok(Conversation {
            model,
            session,
            read: Vec::new(),
            unread: Vec::new(),
            rows: None,
            is_last_known: false,
            draws: None,
            messages: Vec::new(),
            texts: EncodedTexts::default(),
        })
    }

    /// What it runs.
    pub fn executable(&self) -> &Executable {
        &self.model.exe
    }

    /// Its tokens, of prompts and answers.
    pub fn ids(&self) -> Vec<u32> {
        [self.read.as_slice(), &self.unread].concat()
    }

    /// How many tokens it has.
    pub fn len(&self) -> usize {
        self.read.len() + self.unread.len()
    }

    /// Whether it has no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The turns that were said, with the answers.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Puts tokens after those that there are. They are read when an answer is asked for.
    ///
    /// # Errors
    /// A number that is no token of the vocabulary; more tokens than the context holds.
    pub fn push(&mut self, ids: &[u32]) -> Result<(), Error> {
        self.check_ids(ids)?;
        self.check_room(self.len() + ids.len())?;
        self.unread.extend(ids);
        Ok(())
    }

    fn check_room(&self, all: usize) -> Result<(), Error> {
        let context = self.model.about.context;
        if all <= context {
            return Ok(());
        }
        let longer = self.model.longer_context().map(|how| format!(", or {how}")).unwrap_or_default();
        let problem = format!("its tokens are {all}, and the context holds {context}: take fewer{longer}");
        Err(ModelError::Option { option: "prompt", problem }.into())
    }

    /// Goes back to the first `len` tokens; what came after them is forgotten.
    ///
    /// # Errors
    /// More tokens than there are.
    pub fn rewind(&mut self, len: usize) -> Result<(), Error> {
        if len > self.len() {
            let problem = format!("{len} tokens are more than the {} that there are", self.len());
            return Err(ModelError::Option { option: "rewind", problem }.into());
        }
        if len < self.len() {
            self.is_last_known = false;
        }
        self.unread.truncate(len.saturating_sub(self.read.len()));
        self.read.truncate(len);
        Ok(())
    }

    /// Forgets all tokens and turns.
    pub fn reset(&mut self) {
        (self.is_last_known, self.draws) = (false, None);
        self.read.clear();
        self.unread.clear();
        self.messages.clear();
    }

    /// A conversation that goes on from here by itself: a copy of its tokens and of the rows of the caches that are in
    /// use, made on the device.
    ///
    /// # Errors
    /// [`RuntimeError::Device`](pumice_runtime::RuntimeError::Device) where a second one does not fit.
    pub fn fork(&mut self) -> Result<Conversation, Error> {
        let (caches, rows) = (self.model.caches(), 0..self.read.len() as u64);
        let in_use = caches.map(|state| StateRows { state, axis: CACHE_ROWS, rows: rows.clone() });
        let in_use: Vec<_> = in_use.collect();
        Ok(Conversation {
            model: Arc::clone(&self.model),
            session: self.session.fork_rows(&in_use)?,
            read: self.read.clone(),
            unread: self.unread.clone(),
            rows: self.rows,
            is_last_known: self.is_last_known,
            draws: self.draws.clone(),
            messages: self.messages.clone(),
            texts: self.texts.clone(),
        })
    }

    /// Writes it down: tokens, turns, the rows of the caches that are in use, and where the draws are.
    /// [`Generator::load`](super::Generator::load) goes on from there.
    ///
    /// # Errors
    /// [`SavedError::Io`](super::SavedError::Io) where it cannot be written; those of reading the caches.
    pub fn save(&mut self, to: &mut dyn std::io::Write) -> Result<(), Error> {
        super::saved::save(self, to)
    }

    /// As [`Conversation::save`], into a file, whole or not at all.
    ///
    /// # Errors
    /// As [`Conversation::save`]; a place that cannot be written.
    pub fn save_file(&mut self, path: impl AsRef<std::path::Path>) -> Result<(), Error> {
        super::saved::save_file(self, path.as_ref())
    }

    /// Makes its tokens these. Those that it begins with already stay as they are read.
    ///
    /// # Errors
    /// As of [`Conversation::push`]; its tokens are what they were then.
    pub fn set_ids(&mut self, ids: &[u32]) -> Result<(), Error> {
        let kept = self.ids().iter().zip(ids).take_while(|(a, b)| a == b).count();
        self.check_ids(&ids[kept..])?;
        self.check_room(ids.len())?;
        self.rewind(kept)?;
        self.push(&ids[kept..])
    }

    /// An answer to what was pushed: its pieces as they come. Where all tokens are read, the last one is read again.
    ///
    /// # Errors
    /// A conversation without tokens, options of the sampler out of their range, texts to stop at that are empty.
    pub fn answer(&mut self, request: &Request) -> Result<Answer<'_>, Error> {
        Answer::new(self, request)
    }

    /// As [`Conversation::answer`], whole. `listen` hears how far the prompt is read, and each piece of text. It may
    /// end the answer each time; the conversation then has what came before.
    ///
    /// # Errors
    /// Those of [`Conversation::answer`]; logits that are no numbers, with the position of the token; those of a run.
    pub fn generate(
        &mut self,
        request: &Request,
        mut listen: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        Answer::new(self, request)?.whole(&mut listen)
    }

    /// Says a message, by the model's chat template, and makes the answer, which becomes the assistant's turn. Only
    /// tokens that are new are read; where the template writes earlier turns otherwise, from there on again.
    ///
    /// # Errors
    /// A model without a template, one that refuses the turns; those of [`Conversation::generate`]. The turns are what
    /// they were then.
    pub fn say(
        &mut self,
        message: Message,
        request: &Request,
        listen: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        let turns = self.messages.len();
        self.messages.push(message);
        let answer = self.answer_turns(request, listen);
        if answer.is_err() {
            self.messages.truncate(turns);
        }
        answer
    }

    /// Makes another answer to the last message.
    ///
    /// # Errors
    /// As of [`Conversation::say`]; a conversation in which nothing was said.
    pub fn say_again(
        &mut self,
        request: &Request,
        listen: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        let Some(last) = self.messages.iter().rposition(is_said) else {
            let problem = "nothing was said that could be answered again".to_owned();
            return Err(ModelError::Option { option: "conversation", problem }.into());
        };
        let after = self.messages.split_off(last + 1);
        let answer = self.answer_turns(request, listen);
        if answer.is_err() {
            self.messages.truncate(last + 1);
            self.messages.extend(after);
        }
        answer
    }

    /// Takes the last message and its answer back. Whether there was one. The tokens follow when the next one is said.
    pub fn undo(&mut self) -> bool {
        let last = self.messages.iter().rposition(is_said);
        last.map(|last| self.messages.truncate(last)).is_some()
    }

    /// Replaces all turns, by one of the system for example. The tokens follow when the next one is said.
    pub fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    fn answer_turns(
        &mut self,
        request: &Request,
        mut listen: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        let ids = self.model.chat_ids(&self.messages, &mut self.texts)?;
        self.set_ids(&ids)?;
        let answer = Answer::new(self, request)?.whole(&mut listen)?;
        self.messages.push(Message::new(ASSISTANT, answer.text.as_str()));
        Ok(answer)
    }
}

const ASSISTANT: &str = "assistant";

/// Whether a turn is somebody's that is answered.
fn is_said(turn: &Message) -> bool {
    turn.role != ASSISTANT && turn.role != "system"
}
