//! A language model in a Hugging Face folder.

use super::family::Family;
use super::weights::{DERIVED, FolderWeights};
use super::{CONFIG, Read, no_other_tensor};
use crate::decoder::{DecoderConfig, decoder_graph_of, recompute_graph_of};
use crate::error::{ModelError, Note};
use crate::llama::LlamaOptions;
use crate::sentence::CONFIG_LIMIT;
use pumice_import::{ImportError, Model, ModelFolder, WeightSource};
use pumice_ir::Graph;
use std::path::Path;

/// A folder whose configuration has been read.
pub struct LanguageFolder {
    files: ModelFolder,
    family: &'static Family,
    /// Shape of the model, with the context chosen.
    pub config: DecoderConfig,
    /// Tokens that the model was trained for.
    pub trained_context: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl LanguageFolder {
    /// Reads a folder's configuration; opens no weights.
    ///
    /// # Errors
    /// A folder without `config.json`; a key that is missing, contradicts another, or asks for what is not supported
    /// ([`ModelError::Field`]); a context that is too long ([`ModelError::Option`]).
    pub fn open(path: impl AsRef<Path>, options: &LlamaOptions) -> Result<LanguageFolder, ModelError> {
        let files = ModelFolder::open(path)?;
        let text = files.read_text(CONFIG, CONFIG_LIMIT)?.ok_or_else(|| ImportError::Missing {
            path: files.file(CONFIG),
            remedy: "give a model folder in Hugging Face layout: config.json and model.safetensors"
                .to_owned(),
        })?;
        let read = Read::of_config(&files.file(CONFIG), &text, options)?;
        let Read { family, config, trained_context, notes } = read;
        Ok(LanguageFolder { files, family, config, trained_context, notes })
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.family.name
    }

    /// The graph of [`decoder_graph`](crate::decoder::decoder_graph) over the folder's tensors.
    ///
    /// # Errors
    /// Tensors that are missing, whose extents are not the configuration's, or that the model does not have.
    pub fn model(&self) -> Result<Model, ModelError> {
        self.model_by(|weights| decoder_graph_of(self.family.name, &self.config, weights))
    }

    /// The graph of [`recompute_graph`](crate::decoder::recompute_graph) over the folder's tensors: logits of every
    /// token of a text, without caches.
    ///
    /// # Errors
    /// As [`LanguageFolder::model`].
    pub fn recompute_model(&self) -> Result<Model, ModelError> {
        self.model_by(|weights| recompute_graph_of(self.family.name, &self.config, weights))
    }

    fn model_by(
        &self,
        graph: impl FnOnce(&FolderWeights<'_>) -> Result<Graph, ModelError>,
    ) -> Result<Model, ModelError> {
        let weights = self.files.weights()?;
        self.check_layers(weights.as_ref())?;
        let names = self.family.names;
        let graph = graph(&FolderWeights { names, source: weights.as_ref() })?;
        let model = Model { graph, weights };
        model.check()?;
        let output = format!("{}.weight", names.output);
        no_other_tensor(&model, |name| {
            (self.config.tied && name == output) || DERIVED.iter().any(|end| name.ends_with(end))
        })?;
        Ok(model)
    }

    /// Before anything is made for each layer, the weights have that many.
    fn check_layers(&self, weights: &dyn WeightSource) -> Result<(), ModelError> {
        let (layers, tensors) = (self.config.layers.len(), weights.names().len());
        if layers <= tensors {
            return Ok(());
        }
        Err(self
            .wrong(self.family.sizes.layers, format!("is {layers}, and the weights are {tensors} tensors")))
    }

    fn wrong(&self, field: &str, problem: String) -> ModelError {
        let remedy = "take the file of the weights that you have".to_owned();
        ModelError::Field { file: self.files.file(CONFIG), field: field.to_owned(), problem, remedy }
    }
}
