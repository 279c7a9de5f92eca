//! A language model on a device: what all its conversations share.

use super::ahead::Ahead;
use super::chat::ChatSettings;
use crate::error::Error;
use pumice_models::{
    ChatInput, ChatTemplate, ChatTemplates, EncodedTexts, Fingerprint, Message, ModelError, Note,
    SuggestedSampling, TextTokenizer,
};
use pumice_runtime::Executable;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// The axis of a cache along which rows lie.
pub(super) const CACHE_ROWS: usize = 1;

/// What becomes of text: tokens and conversations.
pub(crate) struct TextSide {
    pub(super) tokenizer: TextTokenizer,
    /// Sources of chat templates, which are read when a conversation comes.
    pub(super) templates: ChatTemplates,
    pub(super) chat: ChatSettings,
    /// The template that conversations use, once one has come.
    chosen: OnceLock<ChatTemplate>,
}

impl TextSide {
    pub(super) fn new(tokenizer: TextTokenizer, templates: ChatTemplates, chat: ChatSettings) -> TextSide {
        TextSide { tokenizer, templates, chat, chosen: OnceLock::new() }
    }

    /// The template that conversations use: the caller's own, or the model's.
    fn template(&self) -> Result<&ChatTemplate, ModelError> {
        if let Some(chosen) = self.chosen.get() {
            return Ok(chosen);
        }
        let template = match &self.chat.template {
            Some(source) => Some(ChatTemplate::new(source)?),
            None => self.templates.choose(!self.chat.tools.is_empty())?.map(|(_, template)| template),
        };
        let template = template.ok_or_else(|| ModelError::Option {
            option: "chat",
            problem: "the model has no chat template; give the whole text as a prompt (--prompt), or a template (--template)"
                .to_owned(),
        })?;
        let template = match self.chat.date {
            Some(date) => template.on(date),
            None => template,
        };
        Ok(self.chosen.get_or_init(|| template))
    }

    /// The tokens of a conversation, which end where the assistant's answer begins. `before` has the texts of its turns
    /// before.
    fn chat_ids(&self, messages: &[Message], before: &mut EncodedTexts) -> Result<Vec<u32>, ModelError> {
        let chat = &self.chat;
        let mut input = ChatInput::new(messages).add_generation_prompt(true).arguments(&chat.arguments);
        if !chat.tools.is_empty() {
            input = input.tools(&chat.tools);
        }
        Ok(self.tokenizer.encode_turns(self.template()?, &input, before)?)
    }
}

/// What a generator needs of a model besides its graph.
pub(super) struct About {
    /// None of a model that is opened for tokens alone.
    pub(super) text: Option<TextSide>,
    /// Tokens that end an answer.
    pub(super) ends: Vec<u32>,
    pub(super) suggested: SuggestedSampling,
    /// Which model it is.
    pub(super) fingerprint: Fingerprint,
    pub(super) notes: Vec<Note>,
    /// Tokens that the caches hold, and those of a prompt in one run: at least 1 and at most 2²⁴.
    pub(super) context: usize,
    /// Tokens that the model was trained for.
    pub(super) trained: usize,
    pub(super) most_new: usize,
}

/// Executable and what is known of the model.
pub(super) struct LoadedModel {
    pub(super) exe: Executable,
    pub(super) about: About,
    /// Whether a plan that was made before says how long the context is.
    pub(super) has_plan: bool,
    /// Greedy tokens in one submission.
    pub(super) per_submission: usize,
    pub(super) logits: usize,
    pub(super) next: usize,
    /// Whether kernels of other ranges are made after the first answer.
    pub(super) prepares_ahead: bool,
    /// They are being made, or were.
    pub(super) ahead: Mutex<Option<Ahead>>,
}

impl LoadedModel {
    /// Tokens of the vocabulary: logits of one token.
    pub fn vocab(&self) -> u64 {
        let logits = &self.exe.plan().outputs[self.logits];
        logits.shape.last().and_then(|extent| extent.as_const()).map_or(0, |n| n as u64)
    }

    /// Whether it could have been opened with a longer context.
    pub fn has_longer_context(&self) -> bool {
        self.about.context < self.about.trained
    }

    /// How there is a longer context; none where the model has none.
    pub fn longer_context(&self) -> Option<&'static str> {
        let how = match self.has_plan {
            true => "compile the plan with a larger --context",
            false => "open the model with a larger --context",
        };
        self.has_longer_context().then_some(how)
    }

    /// Names of the states that hold keys and values.
    pub fn caches(&self) -> impl Iterator<Item = &str> {
        let states = self.exe.plan().states.iter().map(|state| state.name.as_str());
        states.filter(|name| name.ends_with("_cache"))
    }

    /// What becomes of text; without a vocabulary, an error for this option.
    pub fn text_for(&self, option: &'static str) -> Result<&TextSide, ModelError> {
        self.about.text.as_ref().ok_or_else(|| ModelError::Option {
            option,
            problem: "the model was opened for tokens alone, without its vocabulary".to_owned(),
        })
    }

    /// The tokens of a conversation, which end where the assistant's answer begins. `before` has the texts of its turns
    /// before, and has those of these turns then.
    pub fn chat_ids(&self, messages: &[Message], before: &mut EncodedTexts) -> Result<Vec<u32>, Error> {
        Ok(self.text_for("chat")?.chat_ids(messages, before)?)
    }

    /// Makes the kernels of the runs that a prompt and an answer of so many tokens meet: those of whole pieces, of
    /// the last piece, and of single tokens.
    pub fn prepare_for(&self, prompt: usize, answer: usize) -> Result<(), Error> {
        let whole = (prompt > self.about.most_new).then_some(self.about.most_new);
        let last = (prompt - 1) % self.about.most_new + 1;
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

    /// After an answer, the kernels that others may need.
    pub fn prepare_ahead(&self) {
        // A thread that panicked left nothing half done: what is there is there.
        let mut ahead = self.ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.prepares_ahead && ahead.is_none() {
            *ahead = Some(Ahead::begin(&self.exe));
        }
    }
}
