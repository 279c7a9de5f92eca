//! A sentence encoder's folder, and what is made of it: graph, weights, tokenizer.
//!
//! Opening reads the configuration files only, so a plan can be made of a folder without weights.

mod attention;
mod graph;
pub mod names;
mod pool;

pub use graph::encoder_graph;

use crate::config::{EncoderConfig, Family};
use crate::error::{ModelError, Note};
use crate::sentence::{CONFIG_LIMIT, Modules, SentenceOverrides, SentenceSpec};
use crate::tokenizer::SentenceTokenizer;
use pumice_import::{ImportError, Model, ModelFolder, WeightSource};
use pumice_ir::Graph;
use pumice_types::DType;
use std::path::Path;

/// Choices that shape the graph.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncoderOptions {
    /// The most texts that one run may have.
    pub max_batch: u64,
}

impl Default for EncoderOptions {
    fn default() -> EncoderOptions {
        EncoderOptions { max_batch: 32 }
    }
}

impl EncoderOptions {
    /// The most texts that one run may have.
    #[must_use]
    pub fn max_batch(mut self, texts: u64) -> Self {
        self.max_batch = texts;
        self
    }
}

/// A folder whose configuration files have been read and found consistent.
#[derive(Clone, Debug)]
pub struct EncoderFolder {
    name: String,
    files: ModelFolder,
    /// The architecture.
    pub config: EncoderConfig,
    /// What surrounds it.
    pub spec: SentenceSpec,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl EncoderFolder {
    /// Reads a folder's configuration. Weights and tokenizer are not touched.
    pub fn open(path: impl AsRef<Path>, overrides: &SentenceOverrides) -> Result<EncoderFolder, ModelError> {
        let root = ModelFolder::open(path)?;
        let mut notes = Vec::new();
        let modules = Modules::read(&root, &mut notes)?;
        let files = modules.transformer.clone();
        let config = read_config(&files)?;
        let spec = SentenceSpec::read(&root, &modules, &config, overrides, &mut notes)?;
        let name = root.path().file_name().map_or("encoder".into(), |n| n.to_string_lossy().into_owned());
        Ok(EncoderFolder { name, files, config, spec, notes })
    }

    /// The folder of configuration and weights: the transformer's, where a sentence encoder keeps it in one of its own.
    pub fn files(&self) -> &ModelFolder {
        &self.files
    }

    /// The folder's own name; the graph is named so.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The graph with parameters of the dtype that config.json states. Needs no weights.
    pub fn graph(&self, options: &EncoderOptions) -> Result<Graph, ModelError> {
        encoder_graph(&self.name, &self.config, &self.spec, options, &|_| self.config.stored)
    }

    /// The graph with its weights, each parameter of the dtype that its tensor has; every tensor is there and has the
    /// right shape.
    pub fn model(&self, options: &EncoderOptions) -> Result<Model, ModelError> {
        self.model_from(self.files.weights()?, options)
    }

    /// The same with weights from elsewhere, under the names that files of the family use.
    pub fn model_from(
        &self,
        weights: Box<dyn WeightSource>,
        options: &EncoderOptions,
    ) -> Result<Model, ModelError> {
        let graph = {
            let file = names::FileNames::of(weights.as_ref())?;
            self.check_layers(file.layers(self.config.family))?;
            encoder_graph(&self.name, &self.config, &self.spec, options, &|parameter| {
                // A tensor that is missing or of another kind is reported by the check below, with its name.
                let stored = weights.describe(&file.resolve(parameter)).map(|info| info.encoding.plain());
                stored.ok().flatten().filter(|d| d.is_float()).unwrap_or(DType::F32)
            })?
        };
        let parameters =
            graph.params().into_iter().map(|id| graph.value(id).name.to_string()).collect::<Vec<_>>();
        let weights = names::renamed(weights, parameters.into_iter())?;
        let model = Model { graph, weights: Box::new(weights) };
        model.check()?;
        Ok(model)
    }

    /// Before anything is made for each layer, the weights have that many.
    fn check_layers(&self, there: u64) -> Result<(), ModelError> {
        if self.config.layers <= there {
            return Ok(());
        }
        let field = match self.config.family {
            Family::DistilBert => "n_layers",
            _ => "num_hidden_layers",
        };
        Err(ModelError::Field {
            file: self.files.file("config.json"),
            field: field.to_owned(),
            problem: format!("is {}, and the weights have {there} layers", self.config.layers),
            remedy: "take the file of the weights that you have".to_owned(),
        })
    }

    /// The folder's tokenizer, with the model's length limit.
    pub fn tokenizer(&self) -> Result<SentenceTokenizer, ModelError> {
        SentenceTokenizer::open(&self.files, &self.spec, self.config.vocab, self.config.pad_id)
    }
}

fn read_config(files: &ModelFolder) -> Result<EncoderConfig, ModelError> {
    const FILE: &str = "config.json";
    let text = files.read_text(FILE, CONFIG_LIMIT)?.ok_or_else(|| ImportError::Missing {
        path: files.file(FILE),
        remedy: "give a model folder in Hugging Face layout: config.json, tokenizer.json, model.safetensors, 1_Pooling"
            .to_owned(),
    })?;
    EncoderConfig::parse(&files.file(FILE), &text)
}
