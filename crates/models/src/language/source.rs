//! Where a language model is: a Hugging Face folder, or a GGUF file.

use super::family::Family;
use super::file::LanguageFile;
use super::folder::LanguageFolder;
use super::model::Read;
use super::options::LanguageOptions;
use super::suggested::SuggestedSampling;
use crate::decoder::{DecoderConfig, DecoderWeights};
use crate::error::ModelError;
use crate::text::{ChatTemplates, TextTokenizer};
use pumice_import::Model;
use pumice_ir::Graph;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Makes a graph over weights.
pub(super) type Make<'m> = dyn Fn(&dyn DecoderWeights) -> Result<Graph, ModelError> + 'm;

pub(super) enum Source {
    Folder(LanguageFolder),
    File(Box<LanguageFile>),
}

impl Source {
    /// Opens what is there, and reads its configuration.
    pub fn open(path: &Path, options: &LanguageOptions) -> Result<(Source, Read), ModelError> {
        options.check_encoding()?;
        if path.is_dir() {
            let (folder, read) = LanguageFolder::open(path, options)?;
            return Ok((Source::Folder(folder), read));
        }
        let (file, read) = LanguageFile::open(path, options)?;
        Ok((Source::File(Box::new(file)), read))
    }

    /// What the source calls the model.
    pub fn name(&self) -> Option<&str> {
        match self {
            Source::Folder(_) => None,
            Source::File(file) => file.name(),
        }
    }

    /// Tokens that end an answer, all of them rows of the vocabulary.
    pub fn end_of_sequence(&self, vocab: u64) -> Result<Vec<u32>, ModelError> {
        match self {
            Source::Folder(folder) => folder.end_of_sequence(vocab),
            Source::File(file) => file.end_of_sequence(vocab),
        }
    }

    pub fn tokenizer(&self) -> Result<TextTokenizer, ModelError> {
        match self {
            Source::Folder(folder) => folder.tokenizer(),
            Source::File(file) => file.tokenizer(),
        }
    }

    /// The error of a vocabulary with more tokens than the model has rows.
    pub fn vocabulary_beyond(&self, tokens: u64, rows: u64) -> ModelError {
        let (file, field) = match self {
            Source::Folder(folder) => (folder.vocabulary_file(), "vocabulary"),
            Source::File(file) => (file.path().to_owned(), "tokenizer.ggml.tokens"),
        };
        let problem = format!("has {tokens} tokens, and the token table {rows} rows");
        ModelError::Field { file, field: field.to_owned(), problem, remedy: SAME_MODEL.to_owned() }
    }

    /// The sources of the chat templates.
    pub fn chat_templates(&self) -> Result<ChatTemplates, ModelError> {
        match self {
            Source::Folder(folder) => folder.chat_templates(),
            Source::File(file) => file.chat_templates(),
        }
    }

    /// What the model's makers suggest.
    pub fn suggested_sampling(&self) -> Result<SuggestedSampling, ModelError> {
        match self {
            Source::Folder(folder) => folder.suggested_sampling(),
            Source::File(file) => file.suggested_sampling(),
        }
    }

    /// Shows the files, or keys, that say what the model is.
    pub fn describing(&self, show: &mut dyn FnMut(&str, &[u8])) -> Result<(), ModelError> {
        match self {
            Source::Folder(folder) => folder.describing(show),
            Source::File(file) => {
                file.describing(show);
                Ok(())
            }
        }
    }

    /// The graph that `make` makes, over the tensors.
    pub fn model(
        self,
        family: &'static Family,
        config: &DecoderConfig,
        make: &Make<'_>,
    ) -> Result<Model, ModelError> {
        match self {
            Source::Folder(folder) => folder.model(family, config, make),
            Source::File(file) => file.model(make),
        }
    }
}

pub(super) const SAME_MODEL: &str = "take all files from one model";

/// A tensor that the graph does not have would be left out without a word. `is_left` says which may be.
pub(super) fn no_other_tensor(model: &Model, is_left: impl Fn(&str) -> bool) -> Result<(), ModelError> {
    let params = model.graph.params();
    let known: BTreeSet<&str> = params.iter().map(|&v| &*model.graph.value(v).name).collect();
    let names = model.weights.names();
    let Some(name) = names.iter().find(|name| !known.contains(*name) && !is_left(name)) else {
        return Ok(());
    };
    let (problem, remedy) = match is_scale(name, &names) {
        true => (
            "is a scale of a whole tensor beside a matrix, and those are not read",
            "take the model in another encoding",
        ),
        false => {
            ("is a tensor that the model does not have", "take weights and configuration from one model")
        }
    };
    Err(ModelError::Field {
        file: PathBuf::from(model.weights.origin()),
        field: (*name).to_owned(),
        problem: problem.to_owned(),
        remedy: remedy.to_owned(),
    })
}

/// Whether a tensor is one factor of a matrix that is there too, as llama.cpp writes beside NVFP4.
fn is_scale(name: &str, names: &[&str]) -> bool {
    let matrix = name.strip_suffix(".input_scale").or_else(|| name.strip_suffix(".scale"));
    matrix.is_some_and(|matrix| names.contains(&format!("{matrix}.weight").as_str()))
}
