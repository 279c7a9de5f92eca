//! Text from a language model: a file on a device, its caches in a session, tokens one after the other.
//!
//! [`Generator`] is the library's way, [`cli`] the command's. What the model is comes from `pumice-models`; what runs
//! it is an ordinary session, which keeps keys, values and the last token on the device.

mod ahead;
mod answer;
mod chat;
#[cfg(feature = "cli")]
pub mod cli;
mod conversation;
mod loaded;
mod log_probs;
mod logits;
#[cfg(feature = "cli")]
mod measured;
mod options;
mod perplexity;
mod reading;
mod request;
mod saved;
mod scorer;
mod seeded;
mod stop;
mod summed;

pub use answer::Answer;
pub use chat::ChatSettings;
pub use conversation::Conversation;
pub use options::GenerateOptions;
pub use perplexity::{Perplexity, perplexity_windows};
pub use pumice_models::{
    AddedToken, CacheType, ChatInput, ChatTemplate, Date, DecodeStream, EncodedTexts, FolderSettings,
    JsonValue, LanguageOptions, Message, QUANTIZATIONS, Sampler, SuggestedSampling, TemplateArguments,
    TextError, TextTokenizer, Vocabulary,
};
pub use request::{Event, FinishReason, Generated, Piece, Prompt, Request, Token, TokenLogProb};
pub use saved::SavedError;
pub use scorer::Scorer;

use self::loaded::{About, LoadedModel, TextSide};
use crate::device::{Device, DeviceKind};
use crate::error::Error;
use crate::model::Loaded;
use pumice_import::Model;
use pumice_models::{LanguageModel, ModelError, Note};
use pumice_runtime::Executable;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A language model, compiled and filled. It holds any number of conversations.
pub struct Generator {
    model: Arc<LoadedModel>,
    /// The one that [`Generator::generate`] uses.
    own: Option<Conversation>,
}

impl Generator {
    /// Opens a language model (a GGUF file, or a Hugging Face folder), compiles it for a device and uploads its
    /// weights. `progress` hears of every tensor: how many are done, of how many.
    ///
    /// # Errors
    /// Whatever is wrong with the file, by key and tensor, before the device is touched; then those of compiling.
    pub fn open(
        path: impl AsRef<Path>,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let file = LanguageModel::open(path, &options.model_options(device))?;
        let text = TextSide::new(file.tokenizer()?, file.chat_templates()?, options.chat.clone());
        Generator::of(file, Some(text), device, options, progress)
    }

    /// As [`Generator::open`], for tokens alone: neither vocabulary nor templates are read, so that a model without
    /// them will do. Answers are ids, and have no text; texts and messages are refused.
    ///
    /// ```no_run
    /// use pumice::Device;
    /// use pumice::generate::{GenerateOptions, Generator, Request};
    ///
    /// let generator = Generator::open_for_tokens("model/", &Device::best(), &GenerateOptions::default(), |_, _| {})?;
    /// let mut conversation = generator.conversation()?;
    /// conversation.push(&[1, 15043, 3186])?;
    /// for piece in conversation.answer(&Request::default().tokens(8))? {
    ///     println!("{:?}", piece?.token);
    /// }
    /// # Ok::<(), pumice::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Generator::open`].
    pub fn open_for_tokens(
        path: impl AsRef<Path>,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let file = LanguageModel::open(path, &options.model_options(device))?;
        Generator::of(file, None, device, options, progress)
    }

    /// Of a model whose configuration has been read.
    pub(crate) fn of(
        mut file: LanguageModel,
        text: Option<TextSide>,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let mut notes = std::mem::take(&mut file.notes);
        let (context, trained) = (file.config.capacity, file.trained_context);
        if context < trained {
            notes.push(Note(format!(
                "room for {context} of the {trained} tokens of context that the model takes is planned"
            )));
        }
        let about = About {
            text,
            ends: file.config.end_of_sequence.clone(),
            suggested: file.suggested_sampling()?,
            fingerprint: file.fingerprint()?,
            notes,
            context: context as usize,
            trained: trained as usize,
            most_new: file.config.max_new as usize,
        };
        Generator::new(&file.model()?, about, device, options, progress)
    }

    fn new(
        model: &Model,
        about: About,
        device: &Device,
        options: &GenerateOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Generator, Error> {
        let exe = Loaded::by(options.plan_source(), model, device, progress)?.exe;
        let (logits, next) = (exe.output_index("logits")?, exe.output_index("next")?);
        let is_gpu = device.kind() == DeviceKind::Gpu;
        let model = LoadedModel {
            exe,
            about,
            has_plan: options.plan.is_some(),
            // On a CPU a submission costs nothing beside a token, and text should come as soon as it is there.
            per_submission: if is_gpu { 8 } else { 1 },
            logits,
            next,
            prepares_ahead: is_gpu && !options.one_answer,
            ahead: Mutex::new(None),
        };
        Ok(Generator { model: Arc::new(model), own: None })
    }

    /// A conversation that begins anew, with caches of its own.
    ///
    /// # Errors
    /// [`RuntimeError::Device`](pumice_runtime::RuntimeError::Device) where it does not fit.
    pub fn conversation(&self) -> Result<Conversation, Error> {
        Conversation::new(Arc::clone(&self.model))
    }

    /// A conversation that was saved, with a model of the same files and caches of the same type.
    ///
    /// # Errors
    /// [`SavedError`] for a text that is none, of another version or model, or damaged; those of
    /// [`Generator::conversation`].
    pub fn load(&self, from: &mut dyn std::io::Read) -> Result<Conversation, Error> {
        saved::load(&self.model, from)
    }

    /// As [`Generator::load`], from a file.
    ///
    /// # Errors
    /// As [`Generator::load`]; a file that cannot be opened.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<Conversation, Error> {
        saved::load_file(&self.model, path.as_ref())
    }

    /// What the user should know about the model.
    pub fn notes(&self) -> &[Note] {
        &self.model.about.notes
    }

    /// The vocabulary and its rules; none of a model that was opened for tokens alone.
    pub fn tokenizer(&self) -> Option<&TextTokenizer> {
        self.model.about.text.as_ref().map(|text| &text.tokenizer)
    }

    /// The executable: its plan, its memory.
    pub fn executable(&self) -> &Executable {
        &self.model.exe
    }

    /// Tokens that prompt and answer may have together.
    pub fn context(&self) -> usize {
        self.model.about.context
    }

    /// Whether it could have been opened with a longer context: the model was trained for more tokens.
    pub fn has_longer_context(&self) -> bool {
        self.model.has_longer_context()
    }

    /// Whether the model has a chat template.
    pub fn has_chat_template(&self) -> bool {
        let has = |text: &TextSide| text.chat.template.is_some() || !text.templates.is_empty();
        self.model.about.text.as_ref().is_some_and(has)
    }

    /// How the model's makers suggest to choose its tokens.
    pub fn suggested_sampling(&self) -> &SuggestedSampling {
        &self.model.about.suggested
    }

    /// The tokens of a prompt. What messages of a conversation say is text and never becomes control tokens; a text
    /// that is taken as it is may have them.
    ///
    /// # Errors
    /// A conversation for a model without a template, or one that the template refuses; a text that cannot be encoded.
    pub fn prompt_ids(&self, prompt: &Prompt) -> Result<Vec<u32>, Error> {
        match prompt {
            Prompt::Text(text) => {
                let side = self.model.text_for("prompt")?;
                Ok(side.tokenizer.encode_prompt(text, true).map_err(ModelError::from)?)
            }
            Prompt::Chat(messages) => self.model.chat_ids(messages, &mut EncodedTexts::default()),
        }
    }

    /// Makes an answer to these tokens, which begin a new text. `listen` hears how far the prompt is read, before each
    /// piece of it, and text as soon as it is certain. It may end the answer each time: then no further piece of the
    /// prompt is read, and no further token made.
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
        listen: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated, Error> {
        let mut own = match self.own.take() {
            Some(own) => own,
            None => self.conversation()?,
        };
        own.reset();
        let answer = own.push(prompt).and_then(|()| own.generate(request, listen));
        self.own = Some(own);
        answer
    }
}
