//! Runs of a conversation's session: tokens are read, pieces of what one run takes each, and chosen on the device.

use super::conversation::Conversation;
use super::request::Event;
use crate::error::Error;
use pumice_runtime::{DeviceError, RunOptions, RuntimeError};
use pumice_types::{Tensor, TensorView};
use std::ops::ControlFlow;

/// Hears how far an answer is, and may end it.
pub(super) type Listen<'l> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'l;

impl Conversation {
    /// Reads the unread tokens; an output of the last one, or none where that was ended before.
    pub(super) fn read_unread(
        &mut self,
        output: usize,
        listen: &mut Listen<'_>,
    ) -> Result<Option<Tensor>, Error> {
        let of = self.unread.len();
        while !self.unread.is_empty() {
            if of > 1 && listen(Event::Prompt { read: of - self.unread.len(), of }).is_break() {
                break;
            }
            match unless_interrupted(self.read_piece(output))? {
                Some(None) => {}
                Some(out) => return Ok(out),
                None => break,
            }
        }
        Ok(None)
    }

    /// Reads as many tokens as one run takes; an output where they are the last.
    fn read_piece(&mut self, output: usize) -> Result<Option<Tensor>, Error> {
        let count = self.unread.len().min(self.model.about.most_new);
        let is_last = count == self.unread.len();
        let ids: Vec<i32> = self.unread[..count].iter().map(|&id| id as i32).collect();
        let inputs = [("ids", TensorView::i32(&ids, [1, count as u64]))];
        self.go_on()?;
        let out = if is_last {
            self.session.run_read(&inputs, &[output])?.pop()
        } else {
            self.session.execute(&inputs, &RunOptions::default())?;
            None
        };
        self.read.extend(self.unread.drain(..count));
        self.rows = Some(self.read.len());
        Ok(out)
    }

    /// So many likeliest tokens in one submission, or fewer where one of them ends the text. The one unread token is
    /// the one that the device chose last.
    pub(super) fn greedy_steps(&mut self, steps: usize) -> Result<Vec<u32>, Error> {
        self.go_on()?;
        let inputs = [("ids", TensorView::i32(&[-1], [1, 1]))];
        // Until the run has ended, nobody knows which one that is.
        self.is_last_known = false;
        self.session.execute(&inputs, &RunOptions::default().steps(steps as u32))?;
        let (position, replays) = (self.read.len() + 1, self.session.replays());
        self.rows = Some(self.read.len() + replays as usize);
        let rows = position as u64..position as u64 + u64::from(replays);
        let made = self.session.state("history")?.read_range(1, rows)?;
        Ok(made.to_vec::<i32>().map_err(tensor)?.into_iter().map(|id| id as u32).collect())
    }

    /// The session goes on after the tokens that are read. Until a run has ended, nobody knows where it is.
    fn go_on(&mut self) -> Result<(), Error> {
        let read = self.read.len();
        if self.rows.take() != Some(read) {
            self.session.set_scalar("position", read as i64)?;
        }
        Ok(())
    }
}

/// What a run gave; none where it was interrupted. The rows that it wrote are behind those that count.
pub(super) fn unless_interrupted<T>(ran: Result<T, Error>) -> Result<Option<T>, Error> {
    match ran {
        Err(Error::Runtime(RuntimeError::Device(DeviceError::Interrupted))) => Ok(None),
        other => other.map(Some),
    }
}

pub(super) fn tensor(source: pumice_types::TensorError) -> Error {
    let (kind, name) = (pumice_runtime::NameKind::Output, "logits".to_owned());
    pumice_runtime::RuntimeError::Tensor { kind, name, source }.into()
}
