//! How an answer is made: the pieces of the prompt, one run each, then tokens until something ends it.
//!
//! In: a generator whose kernels are ready. Out: the answer, text by text to whoever listens. Never here: what a text
//! is in tokens, which kernels are needed.

use super::{End, Generated, Generator, logits};
use crate::error::Error;
use pumice_models::{ModelError, Sampler};
use pumice_runtime::RunOptions;
use pumice_types::{Tensor, TensorView};
use std::ops::ControlFlow;
use std::time::Instant;

/// Hears pieces of text, and may end the answer.
pub(super) type Listen<'l> = dyn FnMut(&str) -> ControlFlow<()> + 'l;

/// How tokens are chosen.
pub(super) struct Chooser {
    /// The likeliest one, which the program itself finds.
    pub(super) greedy: bool,
    /// Otherwise, a draw from the logits.
    pub(super) sampler: Sampler,
}

impl Chooser {
    /// The token at `position` that an output says: itself, or a draw from its logits.
    fn token(&mut self, position: usize, output: &Tensor) -> Result<u32, Error> {
        if self.greedy {
            return Ok(output.to_vec::<i32>().map_err(tensor)?.first().map_or(0, |&id| id as u32));
        }
        let drawn = self.sampler.next(&output.to_vec::<f32>().map_err(tensor)?);
        drawn.map_err(|e| logits::at(position, ModelError::from(e).into()))
    }
}

impl Generator {
    /// Reads a prompt in pieces of what one run takes; the token after it, or none where whoever listens ended it
    /// before.
    pub(super) fn prefill(
        &mut self,
        prompt: &[u32],
        chooser: &mut Chooser,
        answer: &mut Generated,
        listen: &mut Listen<'_>,
    ) -> Result<Option<u32>, Error> {
        let output = if chooser.greedy { self.next } else { self.logits };
        for piece in prompt.chunks(self.most_new) {
            if listen("").is_break() {
                return Ok(None);
            }
            let ids: Vec<i32> = piece.iter().map(|&id| id as i32).collect();
            let inputs = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
            answer.prompt_read += piece.len();
            if answer.prompt_read == prompt.len() {
                let id = chooser.token(prompt.len(), &self.session.run_read(&inputs, &[output])?[0])?;
                if chooser.greedy {
                    self.check_chosen(prompt.len(), &[id])?;
                }
                return Ok(Some(id));
            }
            self.session.execute(&inputs, &RunOptions::default())?;
        }
        Ok(None)
    }

    /// Makes tokens after the first one until the answer has `wanted` of them, the model ends it, or whoever listens
    /// does.
    pub(super) fn decode(
        &mut self,
        first: u32,
        wanted: usize,
        chooser: &mut Chooser,
        answer: &mut Generated,
        listen: &mut Listen<'_>,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        let mut stream = self.tokenizer.stream();
        let mut fresh = vec![first];
        'answer: while let Some(&last) = fresh.last() {
            for &id in &fresh {
                if self.tokenizer.is_end(id) {
                    answer.end = End::Stop;
                    break 'answer;
                }
                answer.ids.push(id);
                let piece = stream.push(id);
                answer.text.push_str(&piece);
                if listen(&piece).is_break() {
                    answer.end = End::Interrupted;
                    break 'answer;
                }
            }
            let left = wanted - answer.ids.len();
            if left == 0 {
                break;
            }
            fresh = self.next_tokens(last, answer, left, chooser)?;
            answer.decoded += fresh.len();
            answer.decode_time = begin.elapsed();
        }
        let rest = stream.flush();
        answer.text.push_str(&rest);
        if !rest.is_empty() {
            let _ = listen(&rest);
        }
        Ok(())
    }

    /// One token or more, as one submission makes them, at most `left`.
    fn next_tokens(
        &mut self,
        last: u32,
        answer: &Generated,
        left: usize,
        chooser: &mut Chooser,
    ) -> Result<Vec<u32>, Error> {
        let position = answer.prompt_read + answer.ids.len();
        if chooser.greedy {
            return self.greedy_steps(position, left.min(self.per_submission));
        }
        let ids = [last as i32];
        let inputs = [("ids", TensorView::i32(&ids, [1, 1]))];
        let logits = self.session.run_read(&inputs, &[self.logits])?;
        Ok(vec![chooser.token(position, &logits[0])?])
    }

    /// So many likeliest tokens in one submission, or fewer where one of them ends the text. The caches hold all before
    /// the last token, which is at `position` − 1.
    fn greedy_steps(&mut self, position: usize, steps: usize) -> Result<Vec<u32>, Error> {
        let inputs = [("ids", TensorView::i32(&[-1], [1, 1]))];
        self.session.execute(&inputs, &RunOptions::default().steps(steps as u32))?;
        let rows = position as u64..position as u64 + u64::from(self.session.replays());
        let made = self.session.state("history")?.read_range(1, rows)?;
        let made: Vec<u32> = made.to_vec::<i32>().map_err(tensor)?.into_iter().map(|id| id as u32).collect();
        self.check_chosen(position, &made)?;
        Ok(made)
    }
}

pub(super) fn tensor(source: pumice_types::TensorError) -> Error {
    let (kind, name) = (pumice_runtime::NameKind::Output, "logits".to_owned());
    pumice_runtime::RuntimeError::Tensor { kind, name, source }.into()
}
