//! Which files of a repository are the model. In: its names, what is wanted. Out: names, weights last. Never here: a
//! server, a file.
//!
//! Of GGUF files one model: the one that QUANT names; without it Q4_K_M, Q8_0, the only one. Else the folder in
//! Hugging Face layout: configurations, what belongs to a tokenizer, weights in safetensors. Nothing that a program
//! would run is taken (`.bin`, `.pt`, `.py`), and no second copy of the weights (`consolidated.safetensors`).

use super::error::HubError;
use super::quant::{GgufSet, MOST_SHARDS, sets};
use crate::hub_name::ModelName;

/// What of a repository is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A GGUF model, else the folder.
    Any,
    /// The folder: sentence encoders are in no GGUF file here.
    Folder,
}

/// The files of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// A GGUF model.
    Gguf(GgufSet),
    /// Files of a folder.
    Folder(Vec<String>),
}

impl Chosen {
    /// Their names.
    pub fn files(&self) -> &[String] {
        match self {
            Chosen::Gguf(set) => &set.files,
            Chosen::Folder(files) => files,
        }
    }
}

/// Encodings that are taken where none is named, the first that there is.
const USUAL: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Files of a folder's first level.
const PLAIN: [&str; 21] = [
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "config_sentence_transformers.json",
    "generation_config.json",
    "merges.txt",
    "model.safetensors.index.json",
    "modules.json",
    "sentence_bert_config.json",
    "sentence_camembert_config.json",
    "sentence_distilbert_config.json",
    "sentence_roberta_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
];

/// The configuration, without which a folder is no model.
pub(super) const CONFIG: &str = "config.json";
/// The weights, in one file.
pub(super) const WEIGHTS: &str = "model.safetensors";
/// What says which shard has which tensor.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// The files of what `name` asks for, among these.
///
/// # Errors
/// [`HubError::NoQuant`], [`HubError::Ambiguous`], [`HubError::NoModel`].
pub(super) fn choose(name: &ModelName, form: Form, names: &[String]) -> Result<Chosen, HubError> {
    let repository = || name.repository().to_owned();
    let sets = sets(names);
    if let Some(quant) = name.quant() {
        let set = only(name, quant, &sets)?;
        let none = || HubError::NoQuant {
            repository: repository(),
            quant: quant.to_owned(),
            available: encodings(&sets),
        };
        return Ok(Chosen::Gguf(set.ok_or_else(none)?));
    }
    if form == Form::Any {
        for quant in USUAL {
            if let Some(set) = only(name, quant, &sets)? {
                return Ok(Chosen::Gguf(set));
            }
        }
        if let [set] = &sets[..] {
            return Ok(Chosen::Gguf(bounded(name, set)?));
        }
    }
    let files = folder(names);
    let is_model = files.iter().any(|file| file == CONFIG) && files.iter().any(|file| is_weights(file));
    if !is_model {
        return Err(HubError::NoModel { repository: repository(), available: encodings(&sets) });
    }
    Ok(Chosen::Folder(files))
}

/// The one model of that encoding, if there is one.
fn only(name: &ModelName, quant: &str, sets: &[GgufSet]) -> Result<Option<GgufSet>, HubError> {
    let matching: Vec<&GgufSet> = sets.iter().filter(|set| set.is_of(quant)).collect();
    match matching[..] {
        [] => Ok(None),
        [set] => bounded(name, set).map(Some),
        _ => Err(HubError::Ambiguous {
            repository: name.repository().to_owned(),
            quant: quant.to_owned(),
            matches: matching.iter().filter_map(|set| set.files.first().cloned()).collect(),
        }),
    }
}

fn bounded(name: &ModelName, set: &GgufSet) -> Result<GgufSet, HubError> {
    if set.count > MOST_SHARDS {
        let problem = format!("a model of {} shards; at most {MOST_SHARDS} are read", set.count);
        return Err(HubError::Answer { what: name.repository().to_owned(), problem });
    }
    Ok(set.clone())
}

fn encodings(sets: &[GgufSet]) -> Vec<String> {
    let mut names: Vec<String> = sets.iter().filter_map(|set| set.encoding().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// What is read of a folder; weights come last.
fn folder(names: &[String]) -> Vec<String> {
    let whole = names.iter().any(|name| name == WEIGHTS);
    let is_taken = |name: &&String| {
        let weights = if whole { *name == WEIGHTS } else { is_shard(name) };
        weights || PLAIN.contains(&name.as_str()) || is_module(name) || is_template(name)
    };
    let mut files: Vec<String> = names.iter().filter(is_taken).cloned().collect();
    files.sort_by_key(|name| (is_weights(name), name.clone()));
    files
}

fn is_weights(name: &str) -> bool {
    name == WEIGHTS || is_shard(name)
}

/// `model-00001-of-00002.safetensors`, on the first level.
fn is_shard(name: &str) -> bool {
    name.starts_with("model")
        && name.ends_with(".safetensors")
        && name.contains("-of-")
        && !name.contains('/')
}

/// A part of a sentence encoder: `1_Pooling/config.json`, `2_Dense/model.safetensors`.
fn is_module(name: &str) -> bool {
    let Some((folder, file)) = name.split_once('/') else { return false };
    let numbered =
        folder.split_once('_').is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    numbered && (file == CONFIG || file == WEIGHTS)
}

fn is_template(name: &str) -> bool {
    let own = name.strip_prefix("additional_chat_templates/").and_then(|name| name.strip_suffix(".jinja"));
    own.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, form: Form, names: &[&str]) -> Result<Vec<String>, HubError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        choose(&name.parse().expect("a name"), form, &names).map(|chosen| chosen.files().to_vec())
    }

    const FOLDER: [&str; 10] = [
        "model.safetensors",
        "consolidated.safetensors",
        "config.json",
        "tokenizer.json",
        "pytorch_model.bin",
        "x.py",
        "model.pt",
        "1_Pooling/config.json",
        "onnx/config.json",
        "README.md",
    ];

    #[test]
    fn a_folder_is_what_is_read_and_no_more() {
        let files = chosen("o/r", Form::Any, &FOLDER).expect("a folder");
        assert_eq!(files, ["1_Pooling/config.json", "config.json", "tokenizer.json", "model.safetensors"]);
        let shards = [
            "config.json",
            "model-00001-of-00002.safetensors",
            "model.safetensors.index.json",
            "sub/a-of-b.safetensors",
        ];
        assert_eq!(chosen("o/r", Form::Any, &shards).expect("a folder").len(), 3);
    }

    #[test]
    fn without_a_quant_the_usual_one_is_taken() {
        let take = |names: &[&str]| chosen("o/r", Form::Any, names).expect("found").concat();
        assert_eq!(take(&["m-q8_0.gguf", "m-Q4_K_M.gguf", "m-F16.gguf"]), "m-Q4_K_M.gguf");
        assert_eq!(take(&["m-q8_0.gguf", "m-F16.gguf"]), "m-q8_0.gguf");
        assert_eq!(take(&["m-F16.gguf"]), "m-F16.gguf");
        let both = [&FOLDER[..], &["m-F16.gguf", "m-F32.gguf"]].concat();
        assert!(take(&both).ends_with("model.safetensors"));
        let encoder =
            chosen("o/r", Form::Folder, &[&FOLDER[..], &["m-q8_0.gguf"]].concat()).expect("a folder");
        assert!(encoder.concat().ends_with("model.safetensors"));
    }

    #[test]
    fn what_is_not_one_model_is_refused_and_listed() {
        let two = ["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"];
        for name in ["o/r", "o/r:q4_k_m"] {
            let told = chosen(name, Form::Any, &two).expect_err("two").to_string();
            assert!(told.contains("a-Q4_K_M.gguf, b-Q4_K_M.gguf") && told.contains("o/r:a-Q4_K_M"), "{told}");
        }
        let told = chosen("o/r:q5_k_m", Form::Any, &two).expect_err("none").to_string();
        assert!(told.contains("Q4_K_M") && told.contains("q5_k_m"), "{told}");
        let told = chosen("o/r", Form::Any, &["m-F16.gguf", "m-F32.gguf"]).expect_err("which").to_string();
        assert!(told.contains("F16, F32"), "{told}");
        assert!(matches!(chosen("o/r", Form::Any, &["pytorch_model.bin"]), Err(HubError::NoModel { .. })));
    }
}
