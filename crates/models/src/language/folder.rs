//! A language model in a Hugging Face folder.

use super::family::Family;
use super::model::Read;
use super::options::LanguageOptions;
use super::quantized::Quantized;
use super::source::{Make, SAME_MODEL, no_other_tensor};
use super::suggested::SuggestedSampling;
use super::weights::{DERIVED, FolderWeights};
use super::{CONFIG, family_of, unapplied};
use crate::decoder::DecoderConfig;
use crate::error::ModelError;
use crate::sentence::CONFIG_LIMIT;
use crate::text::{
    ChatTemplates, FolderSettings, JsonValue, TextError, TextTokenizer, TokenizerFiles, VocabularyKeys,
};
use pumice_import::{ImportError, Model, ModelFolder, WeightSource};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const GENERATION: &str = "generation_config.json";
const TOKENIZER: &str = "tokenizer.json";
const SENTENCEPIECE: &str = "tokenizer.model";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const ADDED_TOKENS: &str = "added_tokens.json";
const INDEX: &str = "model.safetensors.index.json";
const TEMPLATE: &str = "chat_template.jinja";

/// The largest vocabularies in use need a quarter of it.
const VOCABULARY_LIMIT: u64 = 128 << 20;

/// A folder whose configuration has been read.
pub(super) struct LanguageFolder {
    files: ModelFolder,
    /// `generation_config.json`; empty where there is none.
    generation: Map<String, Value>,
    /// Where another encoding was asked for.
    quantized: Option<Quantized>,
}

impl LanguageFolder {
    /// Reads a folder's configuration; opens no weights, unless they are to be in another encoding.
    pub fn open(path: &Path, options: &LanguageOptions) -> Result<(LanguageFolder, Read), ModelError> {
        let files = ModelFolder::open(path)?;
        let mut read = Read::of_config(&files.file(CONFIG), &config_text(&files)?, options)?;
        let generation = object(&files, GENERATION)?.unwrap_or_default();
        read.notes.extend(unapplied::of_folder(GENERATION, &generation));
        let mut this = LanguageFolder { files, generation, quantized: None };
        if let Some(asked) = options.quantize {
            let weights = this.files.weights()?;
            this.check_layers(read.family, &read.config, weights.as_ref())?;
            let quantized = Quantized::of(weights.as_ref(), read.family, &read.config, asked)?;
            read.notes.push(quantized.note());
            this.quantized = Some(quantized);
        }
        Ok((this, read))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// What the folder is called.
    pub fn name(&self) -> &str {
        self.path().file_name().and_then(|name| name.to_str()).unwrap_or("model")
    }

    /// The vocabulary as keys of a GGUF file, for a table of so many rows; none where the folder has none.
    pub fn vocabulary_keys(&self, rows: u64) -> Result<Option<VocabularyKeys>, ModelError> {
        let (json, sentencepiece) = (self.files.file(TOKENIZER), self.files.file(SENTENCEPIECE));
        let text = self.files.read_text(TOKENIZER, VOCABULARY_LIMIT)?;
        let bytes = self.files.read_bytes(SENTENCEPIECE, VOCABULARY_LIMIT)?;
        let files = TokenizerFiles {
            json: text.as_deref().map(|text| (json.as_path(), text)),
            sentencepiece: bytes.as_deref().map(|bytes| (sentencepiece.as_path(), bytes)),
            settings: &self.settings()?,
            rows,
        };
        Ok(files.keys()?)
    }

    /// What the folder says of its tokenizer beside its file.
    fn settings(&self) -> Result<FolderSettings, ModelError> {
        let config = self.files.read_text(TOKENIZER_CONFIG, CONFIG_LIMIT)?;
        let read = |text: String| FolderSettings::from_json(&self.files.file(TOKENIZER_CONFIG), &text);
        let settings = config.map(read).transpose()?.unwrap_or_default();
        match self.files.read_text(ADDED_TOKENS, CONFIG_LIMIT)? {
            None => Ok(settings),
            Some(text) => Ok(settings.with_added_tokens(&self.files.file(ADDED_TOKENS), &text)?),
        }
    }

    /// The file of the vocabulary.
    pub fn vocabulary_file(&self) -> PathBuf {
        let name = [TOKENIZER, SENTENCEPIECE].into_iter().find(|name| self.files.has(name));
        self.files.file(name.unwrap_or(TOKENIZER))
    }

    /// Tokens that end an answer: of `generation_config.json`, else of `config.json`, a number or a list; else the
    /// tokenizer's `eos_token`.
    pub fn end_of_sequence(&self, vocab: u64) -> Result<Vec<u32>, ModelError> {
        if let Some(ids) = self.ids_of(GENERATION, &self.generation, vocab)? {
            return Ok(ids);
        }
        let config = self.object(CONFIG)?.unwrap_or_default();
        if let Some(ids) = self.ids_of(CONFIG, &config, vocab)? {
            return Ok(ids);
        }
        let has_tokenizer = [TOKENIZER, SENTENCEPIECE].iter().any(|name| self.files.has(name));
        let eos = if has_tokenizer { self.tokenizer()?.eos() } else { None };
        Ok(eos.into_iter().collect())
    }

    /// Tokens that end an answer by what is in a file; none where it does not say.
    fn ids_of(
        &self,
        file: &str,
        map: &Map<String, Value>,
        vocab: u64,
    ) -> Result<Option<Vec<u32>>, ModelError> {
        const KEY: &str = "eos_token_id";
        let ids = match map.get(KEY) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let id = |value: &Value| {
            let id = value.as_u64().filter(|&id| id < vocab).and_then(|id| u32::try_from(id).ok());
            id.ok_or_else(|| {
                let problem = format!("has {value}, and the model's tokens are 0 to {}", vocab - 1);
                self.wrong(file, KEY, problem)
            })
        };
        let mut ids = ids.iter().map(id).collect::<Result<Vec<u32>, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        Ok(Some(ids))
    }

    /// The folder's tokenizer: `tokenizer.json`, else `tokenizer.model`, with what `tokenizer_config.json` says.
    pub fn tokenizer(&self) -> Result<TextTokenizer, ModelError> {
        let settings = self.settings()?;
        if let Some(text) = self.files.read_text(TOKENIZER, VOCABULARY_LIMIT)? {
            return Ok(TextTokenizer::from_json(&self.files.file(TOKENIZER), &text, &settings)?);
        }
        let Some(bytes) = self.files.read_bytes(SENTENCEPIECE, VOCABULARY_LIMIT)? else {
            let (path, remedy) =
                (self.files.file(TOKENIZER), format!("it, or {SENTENCEPIECE}, is needed for text"));
            return Err(ImportError::Missing { path, remedy }.into());
        };
        Ok(TextTokenizer::from_sentencepiece(&self.files.file(SENTENCEPIECE), &bytes, &settings)?)
    }

    /// The sources of the chat templates: files of their own, before a key of `tokenizer_config.json`.
    pub fn chat_templates(&self) -> Result<ChatTemplates, ModelError> {
        let mut templates = ChatTemplates::default();
        let config = self.files.file(TOKENIZER_CONFIG);
        if let Some(text) = self.files.read_text(TOKENIZER_CONFIG, CONFIG_LIMIT)? {
            let json = |source| ImportError::Json { path: config.clone(), source };
            let all: JsonValue = serde_json::from_str(&text).map_err(json)?;
            if let Some(own) = all.get("chat_template") {
                let wrong = |e: TextError| self.wrong(TOKENIZER_CONFIG, "chat_template", e.to_string());
                templates.add_config(own).map_err(wrong)?;
            }
        }
        for name in [TEMPLATE.to_owned()].into_iter().chain(self.additional_templates()) {
            if let Some(text) = self.files.read_text(&name, CONFIG_LIMIT)? {
                templates.add_file(&name, &text);
            }
        }
        Ok(templates)
    }

    /// Files of templates besides the usual one, in the order of their names.
    fn additional_templates(&self) -> Vec<String> {
        const FOLDER: &str = "additional_chat_templates";
        let entries = std::fs::read_dir(self.files.file(FOLDER)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".jinja")).collect();
        names.sort();
        names.into_iter().map(|name| format!("{FOLDER}/{name}")).collect()
    }

    /// What the model's makers suggest.
    pub fn suggested_sampling(&self) -> Result<SuggestedSampling, ModelError> {
        let value = |name: &str| self.generation.get(name).cloned().unwrap_or_default();
        SuggestedSampling::read(0, value, |field, problem| self.wrong(GENERATION, field, problem))
    }

    /// The tensors, in other encodings where these were asked for.
    pub fn weights(&self) -> Result<Box<dyn WeightSource>, ModelError> {
        let stored = self.files.weights()?;
        match &self.quantized {
            None => Ok(stored),
            Some(quantized) => quantized.over(stored),
        }
    }

    /// Shows the files that say what the model is.
    pub fn describing(&self, show: &mut dyn FnMut(&str, &[u8])) -> Result<(), ModelError> {
        for name in [CONFIG, TOKENIZER, SENTENCEPIECE, TOKENIZER_CONFIG, ADDED_TOKENS, INDEX] {
            if let Some(bytes) = self.files.read_bytes(name, VOCABULARY_LIMIT)? {
                show(name, &bytes);
            }
        }
        Ok(())
    }

    /// A file that holds an object, if it is there.
    pub fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, ModelError> {
        object(&self.files, name)
    }

    /// The graph that `make` makes, over the folder's tensors.
    pub fn model(
        self,
        family: &'static Family,
        config: &DecoderConfig,
        make: &Make<'_>,
    ) -> Result<Model, ModelError> {
        let weights = self.weights()?;
        self.check_layers(family, config, weights.as_ref())?;
        let graph = make(&FolderWeights::of(family.names, weights.as_ref())?)?;
        let model = Model { graph, weights };
        model.check()?;
        let output = format!("{}.weight", family.names.output);
        no_other_tensor(&model, |name| {
            (config.tied && name == output) || DERIVED.iter().any(|end| name.ends_with(end))
        })?;
        Ok(model)
    }

    /// Before anything is made for each layer, the weights have that many.
    fn check_layers(
        &self,
        family: &Family,
        config: &DecoderConfig,
        weights: &dyn WeightSource,
    ) -> Result<(), ModelError> {
        let (layers, tensors) = (config.layers.len(), weights.names().len());
        if layers <= tensors {
            return Ok(());
        }
        let problem = format!("is {layers}, and the weights are {tensors} tensors");
        Err(self.wrong(CONFIG, family.sizes.layers, problem))
    }

    pub fn wrong(&self, file: &str, field: &str, problem: String) -> ModelError {
        let (file, remedy) = (self.files.file(file), SAME_MODEL.to_owned());
        ModelError::Field { file, field: field.to_owned(), problem, remedy }
    }
}

fn object(files: &ModelFolder, name: &str) -> Result<Option<Map<String, Value>>, ModelError> {
    let Some(text) = files.read_text(name, CONFIG_LIMIT)? else { return Ok(None) };
    let json = |source| ImportError::Json { path: files.file(name), source };
    Ok(Some(serde_json::from_str(&text).map_err(json)?))
}

fn config_text(files: &ModelFolder) -> Result<String, ModelError> {
    let text = files.read_text(CONFIG, CONFIG_LIMIT)?;
    Ok(text.ok_or_else(|| ImportError::Missing { path: files.file(CONFIG), remedy: remedy(files) })?)
}

/// What to give instead of a folder without a configuration.
fn remedy(files: &ModelFolder) -> String {
    let entries = std::fs::read_dir(files.path()).into_iter().flatten().flatten();
    let mut ggufs: Vec<_> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "gguf")).collect();
    ggufs.sort();
    match ggufs.first() {
        Some(file) => format!("the folder has GGUF files: give one itself, as {}", file.display()),
        None => "give a model folder in Hugging Face layout: config.json and model.safetensors".to_owned(),
    }
}

/// Whether a folder's configuration is of a family that is known.
///
/// # Errors
/// A folder without a configuration, one that is no JSON.
pub(super) fn is_language_model(path: &Path) -> Result<bool, ModelError> {
    let files = ModelFolder::open(path)?;
    let text = config_text(&files)?;
    let json = |source| ImportError::Json { path: files.file(CONFIG), source };
    let map: Map<String, Value> = serde_json::from_str(&text).map_err(json)?;
    Ok(map.get("model_type").and_then(Value::as_str).is_some_and(|name| family_of(name).is_some()))
}
