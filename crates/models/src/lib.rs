//! Model configurations to pumice graphs: encoders and language models, tokenizers, pooling.
//!
//! A folder in Hugging Face layout comes in; a graph, its weights under the graph's parameter names, and a tokenizer
//! come out. Nothing here computes, compiles or runs: a model is its description. What a file says is believed only
//! after it was found consistent with the other files; otherwise a [`ModelError`] names file, field and remedy.

pub mod config;
pub mod convert;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod fuzz;
pub mod language;
pub mod offline;
pub mod quantization;
pub mod sentence;
pub mod specialize;
pub mod text;
pub mod tokenizer;

pub use config::{Activation, EncoderConfig, Family};
pub use convert::{Conversion, ConvertedTensor};
pub use encoder::{EncoderFolder, EncoderOptions, encoder_graph};
pub use error::{ModelError, Note};
pub use language::{CacheType, Fingerprint, LanguageModel, LanguageOptions, SuggestedSampling};
pub use quantization::QUANTIZATIONS;
pub use sentence::{Pooling, SentenceOverrides, SentenceSpec};
pub use specialize::Cuts;
pub use text::{
    AddedToken, ChatInput, ChatTemplate, ChatTemplates, Date, DecodeStream, Draws, EncodedTexts,
    FolderSettings, JsonValue, Message, PreTokenizer, Sampler, TemplateArguments, TextError, TextTokenizer,
    Vocabulary,
};
pub use tokenizer::{Encoded, SentenceTokenizer, TokenBatch};
