//! Text from a language model: a file on a device, its caches in a session, tokens one after the other.
//!
//! [`Generator`] is the library's way, [`cli`] the command's. What the model is comes from `pumice-models`; what runs
//! it is an ordinary session, which keeps keys, values and the last token on the device.

mod ahead;
mod answer;
#[cfg(feature = "cli")]
pub mod cli;
mod logits;
mod seeded;

pub use pumice_models::{LlamaOptions, Message, Sampling, TextError};

use self::ahead::Ahead;
use self::answer::Chooser;
use crate::device::{Device, DeviceKind};
use crate::error::Error;
use crate::model::{Loaded, PlanSource};
use pumice_compile::Options;
use pumice_import::Model;
use pumice_models::{ChatTemplate, LlamaFile, ModelError, Note, Sampler, TextTokenizer, specialize};
use pumice_plan::CheckedPlan;
use pumice_runtime::{Executable, Session};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
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
    /// Whether the program ends after one answer. Otherwise, on a GPU, a thread makes the kernels that later prompts
    /// may need once the first answer is there.
    pub one_answer: bool,
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

    /// Whether the program ends after one answer.
    #[must_use]
    pub fn one_answer(mut self, one: bool) -> Self {
        self.one_answer = one;
        self
    }

    fn plan_source(&self) -> PlanSource<'_> {
        PlanSource { plan: self.plan.as_ref(), compile: &self.compile, suggested: specialize::decoder }
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
    /// Tokens of the prompt that the session read: all of them, unless whoever listens ended the answer before.
    pub prompt_read: usize,
    /// Until the first token was there, or the reading was ended.
    pub prompt_time: Duration,
    /// From there to the last one.
    pub decode_time: Duration,
    /// Tokens that were made in that time, with those that were made past the end.
    pub decoded: usize,
}

impl Generated {
    /// Of which no token is made yet.
    fn empty(end: End) -> Generated {
        let (ids, text) = (Vec::new(), String::new());
        let (prompt_time, decode_time) = (Duration::ZERO, Duration::ZERO);
        Generated { ids, text, end, prompt_read: 0, prompt_time, decode_time, decoded: 0 }
    }

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
    /// The chat template's source, which is read when a conversation comes.
    template: Option<String>,
    notes: Vec<Note>,
    /// Tokens that the caches hold.
    context: usize,
    /// Tokens of a prompt in one run; at least 1.
    most_new: usize,
    /// Greedy tokens in one submission.
    per_submission: usize,
    logits: usize,
    next: usize,
    /// Whether kernels of other ranges are made after the first answer.
    prepares_ahead: bool,
    /// They are being made, or were.
    ahead: Option<Ahead>,
}

impl Generator {
    /// Opens a Llama-shaped GGUF file, compiles it for a device and uploads its weights. `progress` hears of every
    /// tensor: how many are done, of how many.
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
        let (tokenizer, config) = (file.tokenizer()?, file.config.clone());
        let template = file.chat_template_source()?.map(str::to_owned);
        let mut notes = Vec::new();
        if config.capacity < file.trained_context {
            let (planned, trained) = (config.capacity, file.trained_context);
            notes.push(Note(format!(
                "room for {planned} of the {trained} tokens of context that the model takes is planned"
            )));
        }
        let text = (tokenizer, template, notes);
        Generator::new(&file.model()?, text, (config.capacity, config.max_new), device, options, progress)
    }

    fn new(
        model: &Model,
        (tokenizer, template, notes): (TextTokenizer, Option<String>, Vec<Note>),
        (context, most_new): (u64, u64),
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let exe = Loaded::by(options.plan_source(), model, device, progress)?.exe;
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
            prepares_ahead: device.kind() == DeviceKind::Gpu && !options.one_answer,
            ahead: None,
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

    /// The tokens of a prompt. What messages of a conversation say is text and never becomes control tokens; a text
    /// that is taken as it is may have them.
    ///
    /// # Errors
    /// A conversation for a model without a template, or one that the template refuses; a text that cannot be encoded.
    pub fn prompt_ids(&self, prompt: &Prompt) -> Result<Vec<u32>, Error> {
        let ids = match prompt {
            Prompt::Text(text) => self.tokenizer.encode_prompt(text, true),
            Prompt::Chat(messages) => self.tokenizer.encode_chat(&self.chat_template()?, messages, true),
        };
        Ok(ids.map_err(ModelError::from)?)
    }

    fn chat_template(&self) -> Result<ChatTemplate, Error> {
        let source = self.template.as_ref().ok_or_else(|| ModelError::Option {
            option: "chat",
            problem: "the file has no chat template; give the whole text as a prompt".to_owned(),
        })?;
        Ok(ChatTemplate::new(source).map_err(ModelError::from)?)
    }

    /// Makes an answer to these tokens, which begin a new text. `listen` hears each piece of text as soon as it is
    /// certain, and an empty one where there is none: before each piece of the prompt, and after a token that ends no
    /// character. It may end the answer each time: then no further piece of the prompt is read, and no further token
    /// made.
    ///
    /// The kernels that this prompt and its answer meet are made before the first token.
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
        let sampler = Sampler::new(request.sampling).map_err(ModelError::from)?;
        let mut chooser = Chooser { greedy: request.sampling.temperature == 0.0, sampler };
        self.check_prompt(prompt)?;
        let wanted = request.tokens.min(self.context - prompt.len());
        let end = if wanted == request.tokens { End::Length } else { End::Context };
        let mut answer = Generated::empty(end);
        if wanted == 0 {
            return Ok(answer);
        }
        let begin = Instant::now();
        self.prepare_for(prompt.len(), wanted)?;
        self.session.set_scalar("position", 0)?;
        let first = self.prefill(prompt, &mut chooser, &mut answer, &mut listen)?;
        answer.prompt_time = begin.elapsed();
        let Some(first) = first else {
            answer.end = End::Interrupted;
            return Ok(answer);
        };
        self.decode(first, wanted, &mut chooser, &mut answer, &mut listen)?;
        if self.prepares_ahead && self.ahead.is_none() {
            self.ahead = Some(Ahead::begin(&self.exe));
        }
        Ok(answer)
    }

    /// Refuses a prompt that no session of this model can read.
    fn check_prompt(&self, prompt: &[u32]) -> Result<(), Error> {
        let problem = match prompt.len() {
            0 => "it has no token".to_owned(),
            n if n > self.context => {
                format!("its tokens are {n}, and the context holds {}", self.context)
            }
            _ => return self.check_ids(prompt),
        };
        Err(ModelError::Option { option: "prompt", problem }.into())
    }

    /// Makes the kernels of the runs that a prompt and an answer of so many tokens meet: those of whole pieces, of
    /// the last piece, and of single tokens.
    fn prepare_for(&self, prompt: usize, answer: usize) -> Result<(), Error> {
        let whole = (prompt > self.most_new).then_some(self.most_new);
        let last = (prompt - 1) % self.most_new + 1;
        let single = (answer > 1).then_some(1);
        let met = whole.into_iter().chain([last]).chain(single).filter_map(|new| self.run_of(new));
        let runs: BTreeSet<usize> = met.collect();
        Ok(self.exe.prepare_runs(&runs.into_iter().collect::<Vec<_>>())?)
    }

    /// The run that takes so many new tokens.
    fn run_of(&self, new: usize) -> Option<usize> {
        let plan = self.exe.plan();
        let symbol = plan.symbols.find("t");
        plan.run_for(0, |id| (Some(id) == symbol).then_some(new as u64))
    }
}
