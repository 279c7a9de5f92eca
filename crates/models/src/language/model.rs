//! A language model on disk: what its configuration says, the graph over its tensors, its text side.

use super::family::Family;
use super::fingerprint::{self, Fingerprint};
use super::options::LanguageOptions;
use super::source::Source;
use super::suggested::SuggestedSampling;
use super::written::{Written, written};
use crate::decoder::{DecoderConfig, DecoderWeights, decoder_graph_of, recompute_graph_of, score_graph_of};
use crate::error::{ModelError, Note};
use crate::text::{ChatTemplates, TextTokenizer};
use pumice_import::Model;
use pumice_ir::Graph;
use std::path::Path;

/// Makes a graph of a name, a configuration and weights.
type Build = fn(&str, &DecoderConfig, &dyn DecoderWeights) -> Result<Graph, ModelError>;

/// A language model whose configuration has been read: a Hugging Face folder, or a GGUF file.
///
/// ```no_run
/// use pumice_models::{LanguageModel, LanguageOptions};
///
/// let model = LanguageModel::open("Qwen3-0.6B-Q8_0.gguf", &LanguageOptions::default())?;
/// println!("{} with {} layers", model.family(), model.config.layers.len());
/// let ids = model.tokenizer()?.encode_prompt("The capital of France is", false)?;
/// # Ok::<(), pumice_models::ModelError>(())
/// ```
pub struct LanguageModel {
    source: Source,
    family: &'static Family,
    /// Shape of the model, with the context chosen, and the tokens that end an answer.
    pub config: DecoderConfig,
    /// Tokens that the model was trained for.
    pub trained_context: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What a configuration says.
pub(super) struct Read {
    pub family: &'static Family,
    pub config: DecoderConfig,
    pub trained_context: u64,
    pub notes: Vec<Note>,
}

impl LanguageModel {
    /// Reads the configuration of a folder (`config.json`) or of a GGUF file; reads no tensor.
    ///
    /// # Errors
    /// A file that is damaged or missing ([`ModelError::Import`]); a family that is not known, a key that is missing,
    /// contradicts another, or asks for what is not supported ([`ModelError::Field`]); a context that is too long
    /// ([`ModelError::Option`]).
    pub fn open(path: impl AsRef<Path>, options: &LanguageOptions) -> Result<LanguageModel, ModelError> {
        let (source, read) = Source::open(path.as_ref(), options)?;
        let Read { family, mut config, trained_context, notes } = read;
        config.end_of_sequence = source.end_of_sequence(config.vocab)?;
        Ok(LanguageModel { source, family, config, trained_context, notes })
    }

    /// Whether a folder's `config.json` is of a language model that can be read.
    ///
    /// # Errors
    /// A folder without `config.json`, one that is damaged.
    pub fn is_in_folder(path: impl AsRef<Path>) -> Result<bool, ModelError> {
        super::folder::is_language_model(path.as_ref())
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.family.name
    }

    /// The text side: vocabulary and rules.
    ///
    /// # Errors
    /// A vocabulary that is missing, contradicts itself or the model, or is of an unsupported kind.
    pub fn tokenizer(&self) -> Result<TextTokenizer, ModelError> {
        let tokenizer = self.source.tokenizer()?;
        let (tokens, rows) = (tokenizer.vocab_size() as u64, self.config.vocab);
        if tokens <= rows {
            return Ok(tokenizer);
        }
        Err(self.source.vocabulary_beyond(tokens, rows))
    }

    /// The sources of the model's chat templates; they are not read.
    ///
    /// # Errors
    /// A value that is no text, a list of templates that contradicts itself.
    pub fn chat_templates(&self) -> Result<ChatTemplates, ModelError> {
        self.source.chat_templates()
    }

    /// How the model's makers suggest to choose its tokens.
    ///
    /// # Errors
    /// A number out of its range.
    pub fn suggested_sampling(&self) -> Result<SuggestedSampling, ModelError> {
        self.source.suggested_sampling()
    }

    /// Which model it is, as it is planned: a digest of its files' descriptions and of the beginning of every tensor.
    ///
    /// # Errors
    /// Files and tensors that cannot be read.
    pub fn fingerprint(&self) -> Result<Fingerprint, ModelError> {
        match &self.source {
            Source::Folder(folder) => fingerprint::of(&self.source, &self.config, folder.weights()?.as_ref()),
            Source::File(file) => fingerprint::of(&self.source, &self.config, file.weights()),
        }
    }

    /// The graph of [`decoder_graph`](crate::decoder::decoder_graph) over the model's tensors, which stops at the
    /// tokens that end an answer.
    ///
    /// # Errors
    /// Tensors that are missing, of an encoding that is not read, whose extents are not the configuration's, or that
    /// the model does not have.
    pub fn model(self) -> Result<Model, ModelError> {
        self.build(decoder_graph_of)
    }

    /// The graph of [`recompute_graph`](crate::decoder::recompute_graph) over the model's tensors: logits of every
    /// token of a text, without caches.
    ///
    /// # Errors
    /// As [`LanguageModel::model`].
    pub fn recompute_model(self) -> Result<Model, ModelError> {
        self.build(recompute_graph_of)
    }

    /// The graph of [`score_graph_of`] over the model's tensors: how likely given tokens are.
    ///
    /// # Errors
    /// As [`LanguageModel::model`].
    pub fn score_model(self) -> Result<Model, ModelError> {
        self.build(score_graph_of)
    }

    /// The model as a GGUF file has it; none of a model that is one.
    pub(crate) fn written(self) -> Result<Option<Written>, ModelError> {
        let LanguageModel { source, family, config, trained_context, notes } = self;
        match &source {
            Source::File(_) => Ok(None),
            Source::Folder(folder) => {
                let read = Read { family, config, trained_context, notes };
                written(folder, &read).map(Some)
            }
        }
    }

    fn build(self, graph: Build) -> Result<Model, ModelError> {
        let name = self.source.name().unwrap_or(self.family.name).to_owned();
        let make = |weights: &dyn DecoderWeights| graph(&name, &self.config, weights);
        self.source.model(self.family, &self.config, &make)
    }
}
