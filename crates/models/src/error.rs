//! What can be wrong with a model: the file, the field, the reason and what to do.

use pumice_import::ImportError;
use pumice_import::model::MismatchError;
use pumice_ir::BuildErrors;
use std::path::PathBuf;

/// Why a folder is not a model that can be built.
#[derive(thiserror::Error)]
pub enum ModelError {
    /// A file could not be read, or breaks its format.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Weights and configuration do not fit together.
    #[error(transparent)]
    Weights(#[from] MismatchError),
    /// A field of a configuration file is missing, of the wrong kind, out of range, contradicts another or asks for
    /// something that is not supported.
    #[error("{}: `{field}` {problem}; {remedy}", file.display())]
    Field {
        /// The file.
        file: PathBuf,
        /// The field, as a path from the file's root.
        field: String,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A tokenizer that cannot be used.
    #[error("{}: {problem}; {remedy}", file.display())]
    Tokenizer {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The text side of a language model: vocabulary, template, sampling.
    #[error(transparent)]
    Language(#[from] crate::text::TextError),
    /// Logits from which no token can be taken.
    #[error("token {position}, counted from 0 with those of the prompt: {source}")]
    Logits {
        /// The place in the text of the token that was to be chosen.
        position: usize,
        /// What is wrong with them.
        source: crate::text::TextError,
    },
    /// A prompt with a number that is no token of the vocabulary.
    #[error("token {position} of the prompt is {id}; the vocabulary has {count}")]
    PromptToken {
        /// Its place in the prompt, from 0.
        position: usize,
        /// The number.
        id: u32,
        /// Tokens of the vocabulary.
        count: u64,
    },
    /// A text that could not be turned into token ids.
    #[error("text {}: {problem}", text + 1)]
    Text {
        /// Which of the texts given, from 0; shown counting from 1, as lines are.
        text: usize,
        /// What is wrong.
        problem: String,
    },
    /// An option that cannot be.
    #[error("option `{option}`: {problem}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The graph does not build: a defect of this crate, not of the model.
    #[error("the model's graph is faulty, which is a defect of pumice: {0}")]
    Build(#[from] BuildErrors),
}

pumice_types::debug_as_display!(ModelError);

/// Something that the user should know and that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note(pub String);

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
