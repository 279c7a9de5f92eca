//! Language models in Hugging Face folders: `config.json` and safetensors of sixteen families.
//!
//! In: a folder. Out: a [`DecoderConfig`], and a graph whose params have the names and encodings of the folder's
//! tensors. What a family is stands in one file under `families`: how its configuration is read, what its tensors are
//! called. All else is here and in [`decoder`](crate::decoder). A key or a tensor that nobody reads is refused by name.

mod families;
mod family;
mod keys;
mod rotary;
mod weights;

use self::family::{Basics, Description, Family};
use self::keys::Keys;
use self::weights::FolderWeights;
use crate::decoder::{DecoderConfig, decoder_graph_of, recompute_graph_of};
use crate::error::{ModelError, Note};
use crate::llama::{LlamaOptions, new_tokens, planned_context};
use crate::sentence::CONFIG_LIMIT;
use pumice_import::{ImportError, Model, ModelFolder, WeightSource};
use pumice_ir::Graph;
use pumice_types::DType;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.json";

/// Keys of every family that say nothing about values, with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("architectures", "the class that reads it elsewhere"),
    ("model_type", "read before"),
    ("transformers_version", "who wrote it"),
    ("_name_or_path", "where it was"),
    ("dtype", "tensors say it"),
    ("torch_dtype", "tensors say it"),
    ("bos_token_id", "texts"),
    ("eos_token_id", "texts"),
    ("pad_token_id", "texts"),
    ("use_cache", "how it is run"),
    ("return_dict", "how it is run"),
    ("output_attentions", "how it is run"),
    ("output_hidden_states", "how it is run"),
    ("chunk_size_feed_forward", "how it is run"),
    ("problem_type", "a head for classes"),
    ("pretraining_tp", "how it was trained"),
    ("initializer_range", "how it was trained"),
    ("attention_dropout", "training"),
    ("hidden_dropout", "training"),
    ("id2label", "a head for classes"),
    ("label2id", "a head for classes"),
    ("tokenizer_class", "texts"),
    ("auto_map", "code that is not run here"),
];

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
        let read = Read::of(&files.file(CONFIG), &text, options)?;
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
        self.no_other_tensor(&model)?;
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

    /// A tensor that the graph does not have would be left out without a word.
    fn no_other_tensor(&self, model: &Model) -> Result<(), ModelError> {
        let params = model.graph.params();
        let known: std::collections::BTreeSet<&str> =
            params.iter().map(|&v| &*model.graph.value(v).name).collect();
        let is_tied = |name: &str| self.config.tied && name == format!("{}.weight", self.family.names.output);
        let other = model.weights.names().into_iter().find(|name| {
            !known.contains(name) && !is_tied(name) && !weights::DERIVED.iter().any(|end| name.ends_with(end))
        });
        let Some(name) = other.map(str::to_owned) else { return Ok(()) };
        Err(ModelError::Field {
            file: PathBuf::from(model.weights.origin()),
            field: name,
            problem: "is a tensor that the model does not have".to_owned(),
            remedy: "take weights and configuration from one model".to_owned(),
        })
    }

    fn wrong(&self, field: &str, problem: String) -> ModelError {
        let remedy = "take the file of the weights that you have".to_owned();
        ModelError::Field { file: self.files.file(CONFIG), field: field.to_owned(), problem, remedy }
    }
}

/// What a configuration says.
struct Read {
    family: &'static Family,
    config: DecoderConfig,
    trained_context: u64,
    notes: Vec<Note>,
}

impl Read {
    fn of(file: &Path, text: &str, options: &LlamaOptions) -> Result<Read, ModelError> {
        let map: Map<String, Value> = serde_json::from_str(text)
            .map_err(|source| ImportError::Json { path: file.to_owned(), source })?;
        let keys = Keys::new(file, &map);
        let family = family(&keys)?;
        refuse_quantized(&keys)?;
        keys.expect_flag("is_encoder_decoder", false)?;
        let basics = Basics::read(&keys, family.sizes, |trained| planned_context(options, trained))?;
        let description = (family.describe)(&basics, &keys)?;
        let passed_over = keys.refuse_others(&[IGNORED, family.ignored].concat())?;
        let notes = passed_over
            .into_iter()
            .map(|key| Note(format!("{CONFIG}: `{key}` is not known here, and switches nothing on")));
        let (notes, trained_context) = (notes.collect(), basics.trained);
        Ok(Read { family, config: config(&basics, description, options)?, trained_context, notes })
    }
}

fn family(keys: &Keys<'_>) -> Result<&'static Family, ModelError> {
    let Some(model_type) = keys.text("model_type")? else {
        return Err(keys.wrong("model_type", "is missing", "give the folder of a language model"));
    };
    let found = families::ALL.iter().find(|family| family.model_types.contains(&model_type));
    found.ok_or_else(|| {
        let known: Vec<&str> = families::ALL.iter().flat_map(|family| family.model_types).copied().collect();
        let remedy = format!("models of these types can be run: {}", known.join(", "));
        keys.wrong("model_type", format!("is \"{model_type}\""), &remedy)
    })
}

/// Weights that were quantized by another program mean something else than their dtype says.
fn refuse_quantized(keys: &Keys<'_>) -> Result<(), ModelError> {
    let Some(settings) = keys.object("quantization_config")? else { return Ok(()) };
    let method = settings.text("quant_method")?.unwrap_or("a method that it does not name");
    let remedy = "take the model's weights as they were before they were quantized, or a GGUF file";
    Err(keys.wrong("quantization_config", format!("says that the weights are quantized by {method}"), remedy))
}

/// The model with its caches.
fn config(
    basics: &Basics,
    description: Description,
    options: &LlamaOptions,
) -> Result<DecoderConfig, ModelError> {
    let Description { layers, embedding_scale, positions, norm, tied, logit_scale, logit_softcap } =
        description;
    Ok(DecoderConfig {
        vocab: basics.vocab,
        hidden: basics.hidden,
        layers,
        embedding_scale,
        positions,
        norm,
        tied,
        logit_scale,
        logit_softcap,
        capacity: basics.planned,
        max_new: new_tokens(options, basics.planned)?,
        cache: DType::F32,
        end_of_sequence: Vec::new(),
    })
}

/// Reads the bytes as a `config.json` of a language model.
pub(crate) fn fuzz_language_config(text: &str) {
    if let Ok(read) = Read::of(Path::new(CONFIG), text, &LlamaOptions::default()) {
        let trained = read.trained_context;
        assert!(!read.config.layers.is_empty() && read.config.capacity <= trained);
    }
}
