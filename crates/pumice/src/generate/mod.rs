//! Text from a language model: a file on a device, its caches in a session, tokens one after the other.
//!
//! [`Generator`] is the library's way, [`cli`] the command's. What the model is comes from `pumice-models`; what runs it is
//! an ordinary session, which keeps keys, values and the last token on the device.

#[cfg(feature = "cli")]
pub mod cli;
mod logits;
mod seeded;

pub use pumice_models::{LlamaOptions, Message, Sampling, TextError};

use crate::device::{Device, DeviceKind};
use crate::error::Error;
use crate::model::{Loaded, Way};
use pumice_compile::Options;
use pumice_import::Model;
use pumice_models::{ChatTemplate, LlamaFile, ModelError, Note, Sampler, TextTokenizer, specialize};
use pumice_plan::CheckedPlan;
use pumice_runtime::{Executable, Session};
use pumice_types::TensorView;
use std::ops::ControlFlow;
use std::path::Path;
use std::slice::Chunks;
use std::time::{Duration, Instant};

/// Choices for a [`Generator`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// How much context is planned for.
    pub model: LlamaOptions,
    /// Compilation. Without specializations, the decoder's own suggestions are used.
    pub compile: Options,
    /// A plan of the model that was made before: nothing is compiled then, and the context is the plan's.
    pub plan: Option<CheckedPlan>,
}

impl GenerateOptions {
    /// How much context is planned for.
    #[must_use]
    pub fn model(mut self, model: LlamaOptions) -> Self {
        self.model = model;
        self
    }

    /// Compilation.
    #[must_use]
    pub fn compile(mut self, compile: Options) -> Self {
        self.compile = compile;
        self
    }

    /// A plan of the model that was made before.
    #[must_use]
    pub fn plan(mut self, plan: impl Into<Option<CheckedPlan>>) -> Self {
        self.plan = plan.into();
        self
    }

    fn way(&self) -> Way<'_> {
        Way { plan: self.plan.as_ref(), compile: &self.compile, suggested: specialize::decoder }
    }

    /// The model's choices; those that nobody made are the plan's.
    fn model_options(&self) -> LlamaOptions {
        let model = self.model;
        match (&self.plan, model.context) {
            (Some(plan), None) => model.context(planned_context(plan)),
            _ => model,
        }
    }
}

/// What an answer begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A text that is taken as it is.
    Text(String),
    /// A conversation, through the model's template; the answer is the assistant's next turn.
    Chat(Vec<Message>),
}

/// How tokens are chosen, and how many at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Tokens at most; the context is a limit as well.
    pub tokens: usize,
    /// Temperature 0 takes the likeliest token every time.
    pub sampling: Sampling,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum End {
    /// The model ended it.
    Stop,
    /// It has as many tokens as were asked for.
    Length,
    /// The context is full.
    Context,
    /// Whoever listens had enough.
    Interrupted,
}

/// An answer with what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its tokens, without the one that ended it.
    pub ids: Vec<u32>,
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub end: End,
    /// Until the first token was there.
    pub prompt_time: Duration,
    /// From there to the last one.
    pub decode_time: Duration,
    /// Tokens that were made in that time, with those that were made past the end.
    pub decoded: usize,
}

impl Generated {
    /// Tokens a second after the first one; 0 where there was no other.
    pub fn decode_rate(&self) -> f64 {
        rate(self.decoded, self.decode_time)
    }
}

/// Tokens that the caches of a decoder's plan hold: `history` has a row more.
fn planned_context(plan: &CheckedPlan) -> Option<u64> {
    let history = plan.states.iter().find(|s| s.name == "history")?;
    history.shape.get(1)?.checked_sub(1)
}

/// So many a second; 0 where no time went by.
fn rate(count: usize, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// A language model, compiled and filled, with a session of its own.
pub struct Generator {
    exe: Executable,
    session: Session,
    tokenizer: TextTokenizer,
    template: Option<ChatTemplate>,
    notes: Vec<Note>,
    /// Tokens that the caches hold.
    context: usize,
    /// Tokens of a prompt in one run; at least 1.
    most_new: usize,
    /// Greedy tokens in one submission.
    per_submission: usize,
    logits: usize,
    next: usize,
}

impl Generator {
    /// Opens a Llama-shaped GGUF file, compiles it for a device and uploads its weights. `progress` hears of every tensor:
    /// how many are done, of how many.
    ///
    /// # Errors
    /// Whatever is wrong with the file, by key and tensor, before the device is touched; then those of compiling.
    pub fn open(
        path: impl AsRef<Path>,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let file = LlamaFile::open(path, &options.model_options())?;
        let (tokenizer, template, config) = (file.tokenizer()?, file.chat_template()?, file.config.clone());
        let mut notes = Vec::new();
        if config.capacity < file.trained_context {
            let (planned, trained) = (config.capacity, file.trained_context);
            notes.push(Note(format!(
                "a context of {planned} tokens is planned for, the model takes {trained}"
            )));
        }
        let text = (tokenizer, template, notes);
        Generator::new(&file.model()?, text, (config.capacity, config.max_new), device, options, progress)
    }

    fn new(
        model: &Model,
        (tokenizer, template, notes): (TextTokenizer, Option<ChatTemplate>, Vec<Note>),
        (context, most_new): (u64, u64),
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let exe = Loaded::by(options.way(), model, device, progress)?.exe;
        let (logits, next) = (exe.output_index("logits")?, exe.output_index("next")?);
        // On a CPU a submission costs nothing beside a token, and text should come as soon as it is there.
        let per_submission = if device.kind() == DeviceKind::Gpu { 8 } else { 1 };
        let session = exe.session()?;
        // Both are at most 2²⁴.
        let (context, most_new) = (context as usize, most_new as usize);
        Ok(Generator {
            exe,
            session,
            tokenizer,
            template,
            notes,
            context,
            most_new,
            per_submission,
            logits,
            next,
        })
    }

    /// What the user should know about the model.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The executable: its plan, its memory.
    pub fn executable(&self) -> &Executable {
        &self.exe
    }

    /// Tokens that prompt and answer may have together.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The tokens of a prompt.
    ///
    /// # Errors
    /// A conversation for a model without a template, or one that the template refuses; a text that cannot be encoded.
    pub fn prompt_ids(&self, prompt: &Prompt) -> Result<Vec<u32>, Error> {
        let ids = match prompt {
            Prompt::Text(text) => self.tokenizer.encode_prompt(text, true),
            Prompt::Chat(messages) => {
                let text = self.conversation(messages)?;
                self.tokenizer.encode_prompt(&text, true)
            }
        };
        Ok(ids.map_err(ModelError::from)?)
    }

    fn conversation(&self, messages: &[Message]) -> Result<String, Error> {
        let template = self.template.as_ref().ok_or_else(|| ModelError::Option {
            option: "chat",
            problem: "the file has no chat template; give the whole text as a prompt".to_owned(),
        })?;
        let special = |id: Option<u32>| id.map_or_else(String::new, |id| self.tokenizer.decode(&[id]));
        let (bos, eos) = (special(self.tokenizer.bos()), special(self.tokenizer.eos()));
        Ok(template.render(messages, true, &bos, &eos).map_err(ModelError::from)?)
    }

    /// Makes an answer to these tokens, which begin a new text. `listen` hears each piece of text as soon as it is certain
    /// and may end the answer.
    ///
    /// # Errors
    /// A prompt without tokens, with more than the context holds, or with one that is not of the vocabulary; sampling
    /// that cannot be; logits that are no numbers, with the position of the token; those of a run.
    pub fn generate(
        &mut self,
        prompt: &[u32],
        request: &Request,
        mut listen: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        let mut sampler = Sampler::new(request.sampling).map_err(ModelError::from)?;
        let greedy = request.sampling.temperature == 0.0;
        let (before, last) = self.pieces(prompt)?;
        let begin = Instant::now();
        self.session.set_scalar("position", 0)?;
        let room = self.context - prompt.len();
        let wanted = request.tokens.min(room + 1);
        let mut stream = self.tokenizer.stream();
        let mut answer = Generated {
            ids: Vec::new(),
            text: String::new(),
            end: if wanted == request.tokens { End::Length } else { End::Context },
            prompt_time: Duration::ZERO,
            decode_time: Duration::ZERO,
            decoded: 0,
        };
        if wanted == 0 {
            return Ok(answer);
        }
        let mut fresh = vec![self.prefill(before, last, greedy, &mut sampler)?];
        answer.prompt_time = begin.elapsed();
        let decode = Instant::now();
        'answer: loop {
            for &id in &fresh {
                if self.tokenizer.is_end(id) {
                    answer.end = End::Stop;
                    break 'answer;
                }
                answer.ids.push(id);
                let piece = stream.push(id);
                answer.text.push_str(&piece);
                if !piece.is_empty() && listen(&piece).is_break() {
                    answer.end = End::Interrupted;
                    break 'answer;
                }
            }
            if answer.ids.len() >= wanted {
                break;
            }
            let (position, left) = (prompt.len() + answer.ids.len(), wanted - answer.ids.len());
            fresh = match greedy {
                true => self.greedy_steps(position, left.min(self.per_submission))?,
                false => vec![self.sampled_step(position, fresh[0], &mut sampler)?],
            };
            answer.decoded += fresh.len();
            answer.decode_time = decode.elapsed();
        }
        let rest = stream.flush();
        answer.text.push_str(&rest);
        if !rest.is_empty() {
            let _ = listen(&rest);
        }
        Ok(answer)
    }

    /// A prompt in pieces of what one run takes: all before the last, and the last, which is never empty.
    fn pieces<'p>(&self, prompt: &'p [u32]) -> Result<(Chunks<'p, u32>, &'p [u32]), Error> {
        let problem = match prompt.len() {
            0 => "it has no token".to_owned(),
            n if n > self.context => format!("its {n} tokens are more than the context of {}", self.context),
            n => {
                self.check_ids(prompt)?;
                let (before, last) = prompt.split_at((n - 1) / self.most_new * self.most_new);
                return Ok((before.chunks(self.most_new), last));
            }
        };
        Err(ModelError::Option { option: "prompt", problem }.into())
    }

    /// Runs the pieces of a prompt; the token after it.
    fn prefill(
        &mut self,
        before: Chunks<'_, u32>,
        last: &[u32],
        greedy: bool,
        sampler: &mut Sampler,
    ) -> Result<u32, Error> {
        let signed = |piece: &[u32]| piece.iter().map(|&id| id as i32).collect::<Vec<_>>();
        let position = before.clone().map(<[u32]>::len).sum::<usize>() + last.len();
        for ids in before.map(signed) {
            let inputs = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
            self.session.execute(&inputs, &pumice_runtime::RunOptions::default())?;
        }
        let ids = signed(last);
        let inputs = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
        let output = if greedy { self.next } else { self.logits };
        let chosen = choose(&self.session.run_read(&inputs, &[output])?[0], greedy, sampler);
        let id = chosen.map_err(|e| logits::at(position, e))?;
        if greedy {
            self.check_chosen(position, &[id])?;
        }
        Ok(id)
    }

    /// So many likeliest tokens in one submission, or fewer where one of them ends the text. The caches hold all before the last token, which is at `position` − 1.
    fn greedy_steps(&mut self, position: usize, steps: usize) -> Result<Vec<u32>, Error> {
        let inputs = [("ids", TensorView::i32(&[-1], [1, 1]))];
        self.session.execute(&inputs, &pumice_runtime::RunOptions::default().steps(steps as u32))?;
        let rows = position as u64..position as u64 + u64::from(self.session.replays());
        let made = self.session.state("history")?.read_range(1, rows)?;
        let made: Vec<u32> = made.to_vec::<i32>().map_err(tensor)?.into_iter().map(|id| id as u32).collect();
        self.check_chosen(position, &made)?;
        Ok(made)
    }

    /// A token at `position`, drawn after `last`.
    fn sampled_step(&mut self, position: usize, last: u32, sampler: &mut Sampler) -> Result<u32, Error> {
        let ids = [last as i32];
        let inputs = [("ids", TensorView::i32(&ids, [1, 1]))];
        let logits = self.session.run_read(&inputs, &[self.logits])?;
        choose(&logits[0], false, sampler).map_err(|e| logits::at(position, e))
    }
}

/// The token that an output says: itself, or a draw from its logits.
fn choose(output: &pumice_types::Tensor, greedy: bool, sampler: &mut Sampler) -> Result<u32, Error> {
    if greedy {
        return Ok(output.to_vec::<i32>().map_err(tensor)?.first().map_or(0, |&id| id as u32));
    }
    Ok(sampler.next(&output.to_vec::<f32>().map_err(tensor)?).map_err(ModelError::from)?)
}

fn tensor(source: pumice_types::TensorError) -> Error {
    let (kind, name) = (pumice_runtime::NameKind::Output, "logits".to_owned());
    pumice_runtime::RuntimeError::Tensor { kind, name, source }.into()
}
