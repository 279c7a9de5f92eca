//! `config.json` of an encoder: the families' different words for the same architecture, read into one.
//!
//! The text of a file comes in; an [`EncoderConfig`] goes out whose numbers are in range and agree with each other.
//! Files of other models are refused here, by the field that makes them so.

pub mod fields;

use crate::error::ModelError;
use fields::Fields;
use pumice_ir::{GraphBuilder, Value as Node};
use pumice_types::DType;
use serde_json::Value;
use std::path::Path;

/// Which family of encoders: they differ in names, positions and token types, not in the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// BERT (Devlin et al. 2018).
    Bert,
    /// RoBERTa, XLM-RoBERTa, CamemBERT: positions are counted from `padding_idx + 1`.
    Roberta,
    /// DistilBERT: no token types, other names.
    DistilBert,
}

/// The activation between the two matrices of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// ½x(1 + erf(x/√2)).
    Gelu,
    /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
    GeluTanh,
    /// x·σ(1.702x).
    QuickGelu,
    /// max(x, 0).
    Relu,
    /// x·σ(x).
    Silu,
    /// tanh x.
    Tanh,
    /// x·tanh(softplus x).
    Mish,
}

impl Activation {
    /// The activation that configurations call so; none where it is not known.
    pub(crate) fn named(name: &str) -> Option<Activation> {
        Some(match name {
            "gelu" | "gelu_python" => Activation::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" | "gelu_accurate" => Activation::GeluTanh,
            "quick_gelu" => Activation::QuickGelu,
            "relu" => Activation::Relu,
            "silu" | "swish" => Activation::Silu,
            "tanh" => Activation::Tanh,
            "mish" => Activation::Mish,
            _ => return None,
        })
    }

    /// It of every element.
    pub(crate) fn of(self, g: &GraphBuilder, x: Node) -> Node {
        match self {
            Activation::Gelu => g.gelu(x),
            Activation::GeluTanh => g.gelu_tanh(x),
            Activation::QuickGelu => g.swish(x, 1.702),
            Activation::Relu => g.relu(x),
            Activation::Silu => g.silu(x),
            Activation::Tanh => g.tanh(x),
            Activation::Mish => g.mish(x),
        }
    }
}

/// An encoder's architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// The family.
    pub family: Family,
    /// `model_type` as written.
    pub model_type: String,
    /// Rows of the token table.
    pub vocab: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Number of layers.
    pub layers: u64,
    /// Attention heads; they divide `hidden`.
    pub heads: u64,
    /// Width between the feed-forward matrices.
    pub intermediate: u64,
    /// Rows of the position table.
    pub positions: u64,
    /// Row of the first token's position.
    pub first_position: u64,
    /// Rows of the token-type table; 0 where there is none.
    pub token_types: u64,
    /// ε of the layer norms.
    pub norm_eps: f64,
    /// The activation.
    pub activation: Activation,
    /// Id that fills rows shorter than the batch; its content has no effect.
    pub pad_id: u64,
    /// Dtype of the weights as the file says, to plan with where the weights are not at hand.
    pub stored: DType,
}

/// Bounds no real encoder passes; they keep sizes computed from a hostile file small.
const WIDTH: std::ops::RangeInclusive<u64> = 1..=1 << 17;
const ROWS: std::ops::RangeInclusive<u64> = 1..=1 << 24;
const LAYERS: std::ops::RangeInclusive<u64> = 1..=512;

type Reader = fn(&Fields, String) -> Result<EncoderConfig, ModelError>;

/// The encoders that are known, by `model_type`.
const ENCODERS: [(&str, Reader); 5] = [
    ("bert", |fields, name| bert(fields, name, Family::Bert)),
    ("roberta", |fields, name| bert(fields, name, Family::Roberta)),
    ("xlm-roberta", |fields, name| bert(fields, name, Family::Roberta)),
    ("camembert", |fields, name| bert(fields, name, Family::Roberta)),
    ("distilbert", distilbert),
];

/// Whether configurations of this `model_type` are of encoders.
pub(crate) fn is_encoder(model_type: &str) -> bool {
    ENCODERS.iter().any(|(name, _)| *name == model_type)
}

impl EncoderConfig {
    /// Reads the text of a `config.json`; `file` names it in messages.
    pub fn parse(file: &Path, text: &str) -> Result<EncoderConfig, ModelError> {
        let fields = Fields::parse(file, text)?;
        let model_type = fields.required_text("model_type")?.to_owned();
        let Some((_, read)) = ENCODERS.iter().find(|(name, _)| *name == model_type) else {
            let remedy = match crate::language::family_of(&model_type) {
                Some(_) => "it is of a language model: `Generator` runs it, and `pumice generate`".to_owned(),
                None => {
                    let known = ENCODERS.map(|(name, _)| name);
                    format!("encoders of these types can be run: {}", known.join(", "))
                }
            };
            return Err(fields.wrong("model_type", format!("is \"{model_type}\""), remedy));
        };
        let config = read(&fields, model_type)?;
        check(&fields, &config)?;
        Ok(config)
    }

    /// The longest sequence that the position table allows.
    pub fn max_tokens(&self) -> u64 {
        self.positions - self.first_position
    }

    /// Width of one head.
    pub fn head_width(&self) -> u64 {
        self.hidden / self.heads
    }
}

fn bert(fields: &Fields, model_type: String, family: Family) -> Result<EncoderConfig, ModelError> {
    let roberta = family == Family::Roberta;
    let pad_id = fields.integer("pad_token_id", 0..=*ROWS.end())?.unwrap_or(u64::from(roberta));
    Ok(EncoderConfig {
        family,
        model_type,
        vocab: fields.extent("vocab_size", ROWS)?,
        hidden: fields.extent("hidden_size", WIDTH)?,
        layers: fields.extent("num_hidden_layers", LAYERS)?,
        heads: fields.extent("num_attention_heads", WIDTH)?,
        intermediate: fields.extent("intermediate_size", WIDTH)?,
        positions: fields.extent("max_position_embeddings", ROWS)?,
        first_position: if roberta { pad_id + 1 } else { 0 },
        token_types: fields.integer("type_vocab_size", 0..=1024)?.unwrap_or(2),
        norm_eps: fields.number("layer_norm_eps")?.unwrap_or(1e-12),
        activation: activation(fields, "hidden_act")?,
        pad_id,
        stored: stored(fields)?,
    })
}

fn distilbert(fields: &Fields, model_type: String) -> Result<EncoderConfig, ModelError> {
    Ok(EncoderConfig {
        family: Family::DistilBert,
        model_type,
        vocab: fields.extent("vocab_size", ROWS)?,
        hidden: fields.extent("dim", WIDTH)?,
        layers: fields.extent("n_layers", LAYERS)?,
        heads: fields.extent("n_heads", WIDTH)?,
        intermediate: fields.extent("hidden_dim", WIDTH)?,
        positions: fields.extent("max_position_embeddings", ROWS)?,
        first_position: 0,
        token_types: 0,
        // Fixed in the architecture; the file has no field for it.
        norm_eps: 1e-12,
        activation: activation(fields, "activation")?,
        pad_id: fields.integer("pad_token_id", 0..=*ROWS.end())?.unwrap_or(0),
        stored: stored(fields)?,
    })
}

/// The activation by its name there; `gelu` where the field is absent, as in every family.
fn activation(fields: &Fields, field: &str) -> Result<Activation, ModelError> {
    let name = fields.text(field)?.unwrap_or("gelu");
    Activation::named(name).ok_or_else(|| {
        let remedy = "gelu, gelu_new, quick_gelu, relu, silu, tanh and mish are supported";
        fields.wrong(field, format!("is \"{name}\""), remedy)
    })
}

/// The dtype that the weights were saved in.
fn stored(fields: &Fields) -> Result<DType, ModelError> {
    let name = match fields.text("dtype")? {
        Some(name) => Some(name),
        None => fields.text("torch_dtype")?,
    };
    Ok(match name {
        Some("float16") => DType::F16,
        Some("bfloat16") => DType::BF16,
        _ => DType::F32,
    })
}

/// Rules between fields, and what would need another graph.
fn check(fields: &Fields, config: &EncoderConfig) -> Result<(), ModelError> {
    let (hidden, heads) = match config.family {
        Family::DistilBert => ("dim", "n_heads"),
        _ => ("hidden_size", "num_attention_heads"),
    };
    if !config.hidden.is_multiple_of(config.heads) {
        let problem = format!("is {}, which {hidden} = {} is no multiple of", config.heads, config.hidden);
        return Err(fields.wrong(heads, problem, "take the file of the weights that you have"));
    }
    if config.first_position >= config.positions {
        let problem = format!(
            "is {}, which leaves no position after padding_idx = {}",
            config.positions, config.pad_id
        );
        return Err(fields.wrong(
            "max_position_embeddings",
            problem,
            "take the file of the weights that you have",
        ));
    }
    if config.pad_id >= config.vocab {
        let problem = format!("is {}, outside vocab_size = {}", config.pad_id, config.vocab);
        return Err(fields.wrong("pad_token_id", problem, "take the file of the weights that you have"));
    }
    if fields.flag("is_decoder")? || fields.flag("add_cross_attention")? {
        let field = if fields.flag("is_decoder")? { "is_decoder" } else { "add_cross_attention" };
        return Err(fields.wrong(field, "is true", "only encoders without a causal mask can be run"));
    }
    changing_keys(fields)?;
    match fields.text("position_embedding_type")? {
        None | Some("absolute") => Ok(()),
        Some(other) => {
            let remedy = "only models with absolute positions can be run";
            Err(fields.wrong("position_embedding_type", format!("is \"{other}\""), remedy))
        }
    }
}

/// Keys that say that the weights are not those of the plain architecture.
fn changing_keys(fields: &Fields) -> Result<(), ModelError> {
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    for (field, remedy) in [
        ("pruned_heads", "take a model with all of its heads"),
        ("quantization_config", "take the model's weights as they were before they were quantized"),
    ] {
        if fields.get(field).is_some_and(|value| !is_empty(value)) {
            return Err(fields.wrong(field, "is given, and changes what the weights mean", remedy));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
