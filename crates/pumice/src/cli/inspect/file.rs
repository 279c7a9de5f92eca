//! What a path is: facts and tensors of its files, and the graph to plan, where the architecture is known.

use super::super::CommandError;
use super::Args;
use crate::cli::reading::{ENCODERS, refuse};
use crate::error::Error;
use pumice_import::safetensors::Entry;
use pumice_import::{GgufModel, GgufValue, ImportError, ModelFolder, SafetensorsFile};
use pumice_ir::Graph;
use pumice_models::{
    EncoderFolder, EncoderOptions, LanguageModel, LanguageOptions, SentenceOverrides, specialize,
};
use pumice_types::Target;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// No configuration file in use comes near this.
const CONFIG_LIMIT: u64 = 4 << 20;

/// A path that was looked at.
pub(super) struct Opened {
    /// `gguf`, `safetensors` or `folder`.
    pub format: &'static str,
    /// What the file says of the model.
    pub facts: Map<String, Value>,
    /// Its tensors.
    pub tensors: Vec<TensorRow>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What to plan, or why that cannot be.
    pub graph: Result<Planned, String>,
}

/// A graph with the ranges that get plans of their own.
pub(super) struct Planned {
    /// The graph.
    pub graph: Graph,
    /// Symbols with the ends of their ranges.
    pub cuts: specialize::Cuts,
    /// Tokens of context, for a language model.
    pub context: Option<u64>,
}

/// A tensor as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct TensorRow {
    pub name: String,
    pub encoding: String,
    pub shape: Vec<u64>,
    /// Bytes in the file; of a type that pumice does not read those up to the next tensor.
    pub bytes: u64,
    /// Whether pumice reads the type.
    pub read: bool,
}

/// Looks at a path.
///
/// # Errors
/// A path that cannot be read or holds none of the formats; an option that does not go with it.
pub(super) fn open(args: &Args, target: &Target) -> Result<Opened, CommandError> {
    let path = &args.path;
    // What has no configuration to read is looked at as a folder of tensors.
    let is_encoder = path.is_dir() && !LanguageModel::is_in_folder(path).unwrap_or(false);
    if is_encoder {
        args.reading.refuse_for_encoder(path, args.context)?;
        return encoder_folder(path, args.batch);
    }
    refuse(path, &[("--batch", args.batch.is_some())], ENCODERS)?;
    let options = args.reading.options().context(args.context).suited_to(target);
    if path.is_dir() {
        return language_folder(path, &options);
    }
    if path.extension().is_some_and(|e| e == "safetensors") {
        return safetensors(path);
    }
    gguf(path, &options)
}

fn gguf(path: &Path, options: &LanguageOptions) -> Result<Opened, CommandError> {
    let file = GgufModel::open(path).map_err(Error::from)?;
    let tensors = file.tensors().map(|(name, t)| TensorRow {
        name: name.to_owned(),
        encoding: t.ty.to_string(),
        shape: t.shape.clone(),
        bytes: t.bytes.unwrap_or(t.span).0,
        read: t.bytes.is_some(),
    });
    let (tensors, facts) = (tensors.collect(), gguf_facts(&file));
    let (graph, notes) = language(path, options);
    Ok(Opened { format: "gguf", facts, tensors, notes, graph })
}

/// The graph of a language model, and what the user should know of it.
fn language(path: &Path, options: &LanguageOptions) -> (Result<Planned, String>, Vec<String>) {
    let mut notes = Vec::new();
    let graph = LanguageModel::open(path, options).and_then(|model| {
        notes.extend(model.notes.iter().map(|note| note.0.clone()));
        let (planned, trained) = (model.config.capacity, model.trained_context);
        if planned < trained {
            notes.push(format!(
                "a context of {planned} tokens is planned for, the model takes {trained}: --context"
            ));
        }
        let graph = model.model()?.graph;
        Ok(Planned { graph, cuts: specialize::decoder(), context: Some(planned) })
    });
    (graph.map_err(|e| e.to_string()), notes)
}

fn language_folder(path: &Path, options: &LanguageOptions) -> Result<Opened, CommandError> {
    let files = ModelFolder::open(path).map_err(Error::from)?;
    let tensors = folder_entries(&files).map_err(Error::from)?;
    let facts = config_facts(&files)?;
    let (graph, notes) = language(path, options);
    Ok(Opened { format: "folder", facts, tensors, notes, graph })
}

/// What the file says of model, architecture and tokenizer; lists by their lengths.
fn gguf_facts(file: &GgufModel) -> Map<String, Value> {
    let architecture = match file.metadata().get("general.architecture") {
        Some(GgufValue::String(name)) => format!("{name}."),
        _ => "general.".to_owned(),
    };
    let is_shown = |key: &str| {
        key.starts_with("general.") || key.starts_with(&architecture) || key.starts_with("tokenizer.")
    };
    let facts = file.metadata().iter().filter(|(key, _)| is_shown(key));
    facts.map(|(key, value)| (key.to_owned(), gguf_fact(value))).collect()
}

fn gguf_fact(value: &GgufValue) -> Value {
    match value {
        GgufValue::String(text) if text.len() > 60 => Value::from(format!("{} bytes", text.len())),
        GgufValue::String(text) => Value::from(text.as_str()),
        GgufValue::Bool(b) => Value::from(*b),
        GgufValue::Array(list) => Value::from(format!("{} values", list.len())),
        number => {
            // A number prints as its type and its digits.
            let text = number.to_string();
            let digits = text.split(' ').next_back().unwrap_or_default();
            serde_json::from_str(digits).unwrap_or_else(|_| Value::from(digits))
        }
    }
}

fn safetensors(path: &Path) -> Result<Opened, CommandError> {
    let file = SafetensorsFile::open(path).map_err(Error::from)?;
    let why = "a safetensors file does not say what its model is: give the folder that holds its config.json";
    Ok(Opened {
        format: "safetensors",
        facts: Map::new(),
        tensors: entries(&file),
        notes: Vec::new(),
        graph: Err(why.to_owned()),
    })
}

fn entries(file: &SafetensorsFile) -> Vec<TensorRow> {
    let row = |(name, entry): (&String, &Entry)| TensorRow {
        name: name.clone(),
        encoding: entry.dtype.encoding.map_or_else(|| entry.dtype.name.to_owned(), |d| d.to_string()),
        shape: entry.shape.clone(),
        bytes: entry.end - entry.begin,
        read: entry.dtype.encoding.is_some(),
    };
    file.header().entries.iter().map(row).collect()
}

/// The tensors of a folder's files: one, or the shards that its index lists.
fn folder_entries(files: &ModelFolder) -> Result<Vec<TensorRow>, ImportError> {
    Ok(files.shards()?.iter().flat_map(entries).collect())
}

fn encoder_folder(path: &Path, batch: Option<u64>) -> Result<Opened, CommandError> {
    let options = batch.map_or_else(EncoderOptions::default, |n| EncoderOptions::default().max_batch(n));
    let encoder = EncoderFolder::open(path, &SentenceOverrides::default());
    // What is no encoder still has files to look at.
    let files = match &encoder {
        Ok(encoder) => encoder.files().clone(),
        Err(_) => ModelFolder::open(path).map_err(Error::from)?,
    };
    let notes =
        encoder.as_ref().map_or_else(|_| Vec::new(), |e| e.notes.iter().map(|n| n.0.clone()).collect());
    let graph = encoder.and_then(|encoder| {
        let graph = encoder.model(&options)?.graph;
        Ok(Planned { graph, cuts: specialize::encoder(), context: None })
    });
    let (tensors, problem) = match folder_entries(&files) {
        Ok(tensors) => (tensors, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let facts = config_facts(&files)?;
    match problem {
        // Neither a configuration nor weights: nothing of a model is here.
        Some(error) if facts.is_empty() => Err(Error::from(error).into()),
        _ => Ok(Opened { format: "folder", facts, tensors, notes, graph: graph.map_err(|e| e.to_string()) }),
    }
}

/// The scalars of config.json.
fn config_facts(files: &ModelFolder) -> Result<Map<String, Value>, CommandError> {
    let text = files.read_text("config.json", CONFIG_LIMIT).map_err(Error::from)?.unwrap_or_default();
    let Ok(Value::Object(all)) = serde_json::from_str(&text) else { return Ok(Map::new()) };
    let scalar = |v: &Value| v.is_string() || v.is_number() || v.is_boolean();
    Ok(all.into_iter().filter(|(_, value)| scalar(value)).collect())
}
