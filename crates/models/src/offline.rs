//! A model that needs no file: MiniLM's shape, a small vocabulary written here, weights from a seed.
//!
//! Its vectors mean what the words in common mean, no more: it shows that everything runs where there is no network.

use crate::config::{Activation, EncoderConfig, Family};
use crate::encoder::{EncoderOptions, encoder_graph};
use crate::error::ModelError;
use crate::sentence::{Pooling, SentenceSpec};
use crate::tokenizer::SentenceTokenizer;
use pumice_import::{Model, SeededWeights};
use pumice_types::DType;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Words worth a token of their own in the sentences that demonstrations use.
const WORDS: &str = "the a an of to and in is it was for on that with as be at by he she they we you i this are not \
    have has had his her its my your our from or which one all there what so up out if about who get when can like no \
    just him them know take people into year good some could see other than then now look only come over think also \
    back after use two how work first well way even new want because any these give day most us man woman child cat \
    dog house city country river water stone fire light glass weather sun sunny rain snow wind cold warm lovely today \
    outside stadium drove drive car train road walk run runs running eat food bread coffee tea music play guitar book \
    read write letter number code compiler graph memory kernel device time minute hour money bank market price sold \
    bought great small long old young high low big fast slow open close happy sad love hate world life hand part place";

/// Endings that a word may have after a piece.
const ENDINGS: &str = "s ed ing er est ly ness ment tion al ive able ful less y e d r t n es en";

const SPECIALS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The model without files.
pub struct OfflineEncoder {
    /// Its architecture: that of all-MiniLM-L6-v2, with a smaller vocabulary.
    pub config: EncoderConfig,
    /// Mean pooling, normalized.
    pub spec: SentenceSpec,
    /// Graph and weights.
    pub model: Model,
    /// The tokenizer of this file's vocabulary.
    pub tokenizer: SentenceTokenizer,
}

impl OfflineEncoder {
    /// The model with the weights of a seed.
    pub fn new(seed: u64, options: &EncoderOptions) -> Result<OfflineEncoder, ModelError> {
        let tokens = vocabulary();
        let config = config(tokens.len() as u64);
        let spec = spec();
        let graph = encoder_graph("seeded-minilm", &config, &spec, options, &|_| DType::F32)?;
        let weights = Box::new(SeededWeights::for_graph(&graph, seed)?);
        let (file, text) = (Path::new("seeded-minilm/tokenizer.json"), tokenizer_json(&tokens));
        let tokenizer = SentenceTokenizer::from_json(file, &text, &spec, config.vocab, config.pad_id)?;
        Ok(OfflineEncoder { config, spec, model: Model { graph, weights }, tokenizer })
    }
}

fn config(vocab: u64) -> EncoderConfig {
    EncoderConfig {
        family: Family::Bert,
        model_type: "bert".to_owned(),
        vocab,
        hidden: 384,
        layers: 6,
        heads: 12,
        intermediate: 1536,
        positions: 256,
        first_position: 0,
        token_types: 2,
        norm_eps: 1e-12,
        activation: Activation::Gelu,
        pad_id: 0,
        stored: DType::F32,
    }
}

fn spec() -> SentenceSpec {
    SentenceSpec {
        pooling: Pooling::Mean,
        normalize: true,
        max_tokens: 256,
        limit_chosen: false,
        lowercase: false,
        prompt: String::new(),
    }
}

/// Specials, printable ASCII alone and as the rest of a word, words, endings; each once.
fn vocabulary() -> Vec<String> {
    let mut tokens: Vec<String> = SPECIALS.iter().map(|s| (*s).to_owned()).collect();
    tokens.extend(('!'..='~').filter(|c| !c.is_ascii_uppercase()).map(String::from));
    tokens.extend(('a'..='z').chain('0'..='9').map(|c| format!("##{c}")));
    tokens.extend(WORDS.split_whitespace().filter(|w| w.len() > 1).map(str::to_owned));
    tokens.extend(ENDINGS.split_whitespace().filter(|w| w.len() > 1).map(|w| format!("##{w}")));
    let mut seen = std::collections::BTreeSet::new();
    tokens.retain(|t| seen.insert(t.clone()));
    tokens
}

/// A WordPiece tokenizer over the vocabulary, in the form of a `tokenizer.json`.
fn tokenizer_json(tokens: &[String]) -> String {
    let vocab: Map<String, Value> = tokens.iter().enumerate().map(|(i, t)| (t.clone(), json!(i))).collect();
    let added = SPECIALS.iter().enumerate().map(|(id, content)| {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true })
    });
    let special = |name: &str| json!({ "SpecialToken": { "id": name, "type_id": 0 } });
    let single = json!([special("[CLS]"), { "Sequence": { "id": "A", "type_id": 0 } }, special("[SEP]")]);
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": {
            "[CLS]": { "id": "[CLS]", "ids": [2], "tokens": ["[CLS]"] },
            "[SEP]": { "id": "[SEP]", "ids": [3], "tokens": ["[SEP]"] },
        } },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab },
    })
    .to_string()
}
