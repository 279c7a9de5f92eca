//! The text side of a language model: text to token ids and back, conversations to text, logits to the next token.
//!
//! Plain data comes in (what a GGUF file says about its tokenizer, a template's source, numbers); ids and text go out.
//! Never here: reading a file, a clock, or anything that knows how logits are computed.

mod added;
mod byte_level;
mod charsmap;
pub mod chat;
mod conversation;
mod date;
pub mod draw;
mod encoded;
mod encoder;
pub mod error;
mod exp;
mod filters;
mod fuel;
mod gguf_sentencepiece;
pub mod input;
mod jinja;
mod json;
mod json_pieces;
mod json_tokenizer;
mod look_alikes;
mod marks;
pub mod message;
mod methods;
mod numbers;
mod operators;
mod penalties;
mod pieces;
pub mod pre_tokenizer;
mod pre_tokenizer_rules;
mod protobuf;
mod python;
mod random;
pub mod sampler;
mod sentencepiece;
mod sentencepiece_file;
mod sentencepiece_model;
pub mod settings;
mod specials;
mod stack;
pub mod stream;
mod strings;
pub mod templates;
pub mod tokenizer;
pub mod value;
pub mod vocabulary;
mod written;

pub use added::AddedToken;
pub use chat::ChatTemplate;
pub use date::Date;
pub use draw::Draws;
pub use encoded::EncodedTexts;
pub use error::TextError;
pub use input::{ChatInput, TemplateArguments};
pub use message::Message;
pub use pre_tokenizer::PreTokenizer;
pub use sampler::Sampler;
pub use settings::FolderSettings;
pub use stream::DecodeStream;
pub use templates::ChatTemplates;
pub use tokenizer::TextTokenizer;
pub use value::JsonValue;
pub use vocabulary::{TokenKind, Vocabulary};
pub(crate) use written::{TokenizerFiles, VocabularyKeys};
