//! A language model in a GGUF file.

use super::family::Family;
use super::gguf::GgufSettings;
use super::keys::Keys;
use super::weights::GgufWeights;
use super::{Read, families, no_other_tensor};
use crate::decoder::{DecoderConfig, decoder_graph_of, recompute_graph_of};
use crate::error::{ModelError, Note};
use crate::llama::LlamaOptions;
use pumice_import::{GgufFile, Model};
use pumice_ir::Graph;
use std::path::{Path, PathBuf};

/// Tensors that each layer has of its own at least: a matrix each of attention and of what follows, and one back.
const TENSORS_OF_LAYER: usize = 4;

/// A file whose settings have been read.
pub struct LanguageFile {
    file: GgufFile,
    path: PathBuf,
    family: &'static Family,
    /// Shape of the model, with the context chosen.
    pub config: DecoderConfig,
    /// Tokens that the model was trained for.
    pub trained_context: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl LanguageFile {
    /// Opens a file and reads its settings; reads no tensor.
    ///
    /// # Errors
    /// A file that is damaged ([`ModelError::Import`]); an architecture that is not known, a key that is missing,
    /// contradicts another, or asks for what is not supported ([`ModelError::Field`]); a context that is too long
    /// ([`ModelError::Option`]).
    pub fn open(path: impl AsRef<Path>, options: &LlamaOptions) -> Result<LanguageFile, ModelError> {
        let path = path.as_ref().to_owned();
        let file = GgufFile::open(&path)?;
        let architecture = file.metadata().str("general.architecture")?.to_owned();
        let family = family(&path, &architecture)?;
        let settings =
            GgufSettings { file: &file, path: &path, architecture: &architecture, gguf: &family.gguf };
        let said = settings.said(family)?;
        let keys = Keys::new(&path, &said);
        let adjust = |config: &mut _| settings.adjust(config);
        let Read { family, config, trained_context, notes } = Read::of(family, &keys, options, adjust)?;
        let read = LanguageFile { file, path, family, config, trained_context, notes };
        read.check_layers()?;
        Ok(read)
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.family.name
    }

    /// The graph of [`decoder_graph`](crate::decoder::decoder_graph) over the file's tensors.
    ///
    /// # Errors
    /// Tensors that are missing, whose extents are not the configuration's, or that the model does not have.
    pub fn model(self) -> Result<Model, ModelError> {
        self.model_by(decoder_graph_of)
    }

    /// The graph of [`recompute_graph`](crate::decoder::recompute_graph) over the file's tensors: logits of every
    /// token of a text, without caches.
    ///
    /// # Errors
    /// As [`LanguageFile::model`].
    pub fn recompute_model(self) -> Result<Model, ModelError> {
        self.model_by(recompute_graph_of)
    }

    fn model_by(
        self,
        graph: fn(&str, &DecoderConfig, &dyn crate::decoder::DecoderWeights) -> Result<Graph, ModelError>,
    ) -> Result<Model, ModelError> {
        let graph = graph(self.family.name, &self.config, &GgufWeights { source: &self.file })?;
        let model = Model { graph, weights: Box::new(self.file) };
        model.check()?;
        // Of both lists of factors, one is for other contexts than the planned one.
        no_other_tensor(&model, |name| name.starts_with("rope_factors_"))?;
        Ok(model)
    }

    /// Before anything is made for each layer, the file has that many.
    fn check_layers(&self) -> Result<(), ModelError> {
        let (layers, tensors) = (self.config.layers.len(), self.file.tensors().len());
        if layers <= tensors / TENSORS_OF_LAYER {
            return Ok(());
        }
        Err(ModelError::Field {
            file: self.path.clone(),
            field: format!("{}.block_count", self.family.gguf.architecture),
            problem: format!("is {layers}, but the file has {tensors} tensors"),
            remedy: "use another file of the model".to_owned(),
        })
    }
}

fn family(path: &Path, architecture: &str) -> Result<&'static Family, ModelError> {
    let known = families::ALL.iter().filter(|family| !family.gguf.architecture.is_empty());
    let found = known.clone().find(|family| family.gguf.architecture == architecture);
    found.ok_or_else(|| {
        let known: Vec<&str> = known.map(|family| family.gguf.architecture).collect();
        ModelError::Field {
            file: path.to_owned(),
            field: "general.architecture".to_owned(),
            problem: format!("is {architecture}, which is not supported"),
            remedy: format!("use a model of one of these architectures: {}", known.join(", ")),
        }
    })
}
