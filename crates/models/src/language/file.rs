//! A language model in a GGUF file.

use super::family::{Family, Gguf};
use super::gguf::GgufSettings;
use super::keys::Keys;
use super::model::Read;
use super::options::LanguageOptions;
use super::source::{Make, no_other_tensor};
use super::suggested::SuggestedSampling;
use super::weights::GgufWeights;
use super::{families, unapplied, vocabulary};
use crate::error::ModelError;
use crate::text::{ChatTemplates, TextTokenizer};
use pumice_import::{GgufArray, GgufModel, GgufValue, Model, WeightSource};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Tensors that each layer has of its own at least: a matrix each of attention and of what follows, and one back.
const TENSORS_OF_LAYER: usize = 4;

/// A file whose settings have been read.
pub(super) struct LanguageFile {
    file: GgufModel,
    path: PathBuf,
}

impl LanguageFile {
    /// Opens a file and reads its settings.
    pub fn open(path: &Path, options: &LanguageOptions) -> Result<(LanguageFile, Read), ModelError> {
        if let Some(asked) = options.quantize {
            let problem = format!(
                "{asked} is for folders, while they are loaded; the tensors of a GGUF file have their encodings, and \
                 `pumice convert` writes another file"
            );
            return Err(ModelError::Option { option: "quantize", problem });
        }
        let file = GgufModel::open(path)?;
        let this = LanguageFile { file, path: path.to_owned() };
        let architecture = this.file.metadata().str("general.architecture")?;
        let (family, gguf) = this.family(architecture)?;
        let settings = GgufSettings { file: &this.file, path, gguf };
        let configuration = settings.configuration(family)?;
        let keys = Keys::new(path, &configuration, &options.ignored_keys);
        let mut read = Read::of(family, &keys, options, |config| settings.adjust(config))?;
        this.check_layers(gguf, read.config.layers.len())?;
        read.notes.extend(unapplied::of_file(this.file.metadata()));
        Ok((this, read))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file calls the model.
    pub fn name(&self) -> Option<&str> {
        self.file.metadata().str_if_any("general.name").ok().flatten()
    }

    /// Tokens that end an answer; none where the file has no vocabulary.
    pub fn end_of_sequence(&self, vocab: u64) -> Result<Vec<u32>, ModelError> {
        vocabulary::end_of_sequence(&self.file, &self.path, vocab)
    }

    /// Vocabulary and rules of the file.
    pub fn tokenizer(&self) -> Result<TextTokenizer, ModelError> {
        vocabulary::with_vocabulary(&self.file, &self.path, |v| Ok(TextTokenizer::new(v)?))
    }

    /// The sources of its chat templates.
    pub fn chat_templates(&self) -> Result<ChatTemplates, ModelError> {
        let metadata = self.file.metadata();
        let mut templates = ChatTemplates::default();
        for (key, _) in metadata.iter().filter(|(key, _)| key.starts_with("tokenizer.chat_template")) {
            // A list of the others' names stands beside them.
            if key != "tokenizer.chat_templates" {
                templates.add_key(key, metadata.str(key)?);
            }
        }
        Ok(templates)
    }

    /// What the model's makers suggest.
    pub fn suggested_sampling(&self) -> Result<SuggestedSampling, ModelError> {
        let value = |name: &str| self.file.metadata().get(name).map_or(Value::Null, in_json);
        let wrong =
            |field: &str, problem| self.wrong(field, problem, "use another file of the model".to_owned());
        SuggestedSampling::read(1, value, wrong)
    }

    /// The tensors.
    pub fn weights(&self) -> &dyn WeightSource {
        &self.file
    }

    /// Shows every key with its value.
    pub fn describing(&self, show: &mut dyn FnMut(&str, &[u8])) {
        for (key, value) in self.file.metadata().iter() {
            match value {
                GgufValue::Array(GgufArray::Strings(all)) => {
                    all.iter().for_each(|text| show(key, text.as_bytes()))
                }
                GgufValue::Array(list) => show(key, format!("{list:?}").as_bytes()),
                one => show(key, one.to_string().as_bytes()),
            }
        }
    }

    /// The graph that `make` makes, over the file's tensors.
    pub fn model(self, make: &Make<'_>) -> Result<Model, ModelError> {
        let graph = make(&GgufWeights { source: &self.file })?;
        let model = Model { graph, weights: Box::new(self.file) };
        model.check()?;
        // Of both lists of factors, one is for other contexts than the planned one.
        no_other_tensor(&model, |name| name.starts_with("rope_factors_"))?;
        Ok(model)
    }

    /// Before anything is made for each layer, the file has that many.
    fn check_layers(&self, gguf: &Gguf, layers: usize) -> Result<(), ModelError> {
        let tensors = self.file.names().len();
        if layers <= tensors / TENSORS_OF_LAYER {
            return Ok(());
        }
        let key = format!("{}.block_count", gguf.architecture);
        let problem = format!("is {layers}, but the file has {tensors} tensors");
        Err(self.wrong(&key, problem, "use another file of the model".to_owned()))
    }

    fn family(&self, architecture: &str) -> Result<(&'static Family, &'static Gguf), ModelError> {
        families::of_files().find(|(_, gguf)| gguf.architecture == architecture).ok_or_else(|| {
            let known: Vec<&str> = families::of_files().map(|(_, gguf)| gguf.architecture).collect();
            let problem = format!("is {architecture}, which is not supported");
            let remedy = format!("use a model of one of these architectures: {}", known.join(", "));
            self.wrong("general.architecture", problem, remedy)
        })
    }

    fn wrong(&self, field: &str, problem: String, remedy: String) -> ModelError {
        ModelError::Field { file: self.path.clone(), field: field.to_owned(), problem, remedy }
    }
}

/// A number as JSON has it; what is none, as it is shown.
fn in_json(value: &GgufValue) -> Value {
    let number = value.number().and_then(serde_json::Number::from_f64);
    number.map_or_else(|| value.to_string().into(), Value::Number)
}
