//! The weights of a decoder: which there are, what they are called and how they are stored.

use super::config::RotaryFactors;
use pumice_ir::shape::tensor;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Encoding};

/// A weight by its place in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeightRole {
    /// The token table \[vocab, hidden\].
    Embedding,
    /// The table of positions \[positions, hidden\].
    Positions,
    /// The output matrix \[vocab, hidden\].
    Output,
    /// The last norm \[hidden\].
    Norm,
    /// Factors of rotary angles \[rotated/2\].
    RotaryFactors(RotaryFactors),
    /// One of a layer, by its number.
    Layer(u64, LayerWeight),
}

/// A weight of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerWeight {
    /// The norm before attention \[hidden\].
    AttentionNorm,
    /// Queries \[heads · width, hidden\].
    Query,
    /// Keys \[kv_heads · width, hidden\].
    Key,
    /// Values \[kv_heads · width, hidden\].
    Value,
    /// The three, one after the other \[(heads + 2 kv_heads) · width, hidden\].
    QueryKeyValue,
    /// The norm of queries.
    QueryNorm,
    /// The norm of keys.
    KeyNorm,
    /// What follows attention \[hidden, heads · width\].
    AttentionOutput,
    /// The norm of what attention adds \[hidden\].
    AfterAttention,
    /// The norm before the feed-forward part \[hidden\].
    FeedNorm,
    /// Its gate \[width, hidden\].
    Gate,
    /// What the gate lets through \[width, hidden\].
    Up,
    /// The two, the gate first \[2 width, hidden\].
    GateUp,
    /// Back to the residual stream \[hidden, width\].
    Down,
    /// The norm of what the feed-forward part adds \[hidden\].
    AfterFeed,
}

/// What a weight of a layer is called.
pub(crate) struct LayerNames {
    /// In graphs of this crate's own.
    pub plain: &'static str,
    /// In GGUF files, after the layer's number.
    pub gguf: &'static str,
    /// In most Hugging Face folders, after the layer's number.
    pub folder: &'static str,
}

impl LayerWeight {
    /// Its names.
    pub(crate) fn names(self) -> LayerNames {
        let (plain, gguf, folder) = match self {
            LayerWeight::AttentionNorm => ("attention_norm", "attn_norm", "input_layernorm"),
            LayerWeight::Query => ("q", "attn_q", "self_attn.q_proj"),
            LayerWeight::Key => ("k", "attn_k", "self_attn.k_proj"),
            LayerWeight::Value => ("v", "attn_v", "self_attn.v_proj"),
            LayerWeight::QueryKeyValue => ("qkv", "attn_qkv", "self_attn.qkv_proj"),
            LayerWeight::QueryNorm => ("q_norm", "attn_q_norm", "self_attn.q_norm"),
            LayerWeight::KeyNorm => ("k_norm", "attn_k_norm", "self_attn.k_norm"),
            LayerWeight::AttentionOutput => ("attention_output", "attn_output", "self_attn.o_proj"),
            LayerWeight::AfterAttention => {
                ("after_attention", "post_attention_norm", "post_attention_layernorm")
            }
            LayerWeight::FeedNorm => ("feed_norm", "ffn_norm", "post_attention_layernorm"),
            LayerWeight::Gate => ("gate", "ffn_gate", "mlp.gate_proj"),
            LayerWeight::Up => ("up", "ffn_up", "mlp.up_proj"),
            LayerWeight::GateUp => ("gate_up", "ffn_up", "mlp.gate_up_proj"),
            LayerWeight::Down => ("down", "ffn_down", "mlp.down_proj"),
            LayerWeight::AfterFeed => ("after_feed", "post_ffw_norm", "post_feedforward_layernorm"),
        };
        LayerNames { plain, gguf, folder }
    }
}

/// What is multiplied by, or what is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A matrix, a table, the factors of a norm.
    Weight,
    /// What is added, with an element for each row of the weight.
    Bias,
}

impl Part {
    /// How names of params end.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Part::Weight => "weight",
            Part::Bias => "bias",
        }
    }
}

/// Names and encodings of a decoder's weights.
pub trait DecoderWeights {
    /// The name of its param.
    fn name(&self, role: WeightRole, part: Part) -> String;

    /// How the param of that name is stored.
    fn encoding(&self, name: &str) -> Encoding;

    /// The same, for a param of these extents: another encoding where rows of them are no whole blocks, if the tensor
    /// is looked at afterwards, whose extents must be others then.
    fn encoding_of(&self, name: &str, _shape: &[u64]) -> Encoding {
        self.encoding(name)
    }

    /// Whether a matrix is stored as its transpose.
    fn is_transposed(&self, _role: WeightRole) -> bool {
        false
    }

    /// Where each head's part of a norm's weight is a param of its own, the name of one.
    fn name_of_head(&self, _role: WeightRole, _head: u64) -> Option<String> {
        None
    }
}

/// Names of this crate's own, everything f32.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl DecoderWeights for Plain {
    fn name(&self, role: WeightRole, part: Part) -> String {
        let name = match role {
            WeightRole::Embedding => "embedding".to_owned(),
            WeightRole::Positions => "positions".to_owned(),
            WeightRole::Output => "output".to_owned(),
            WeightRole::Norm => "norm".to_owned(),
            WeightRole::RotaryFactors(_) => "rotary_factors".to_owned(),
            WeightRole::Layer(i, weight) => format!("layer.{i}.{}", weight.names().plain),
        };
        format!("{name}.{}", part.end())
    }

    fn encoding(&self, _: &str) -> Encoding {
        Encoding::Plain(DType::F32)
    }
}

/// Weights as values of a graph.
#[derive(Clone, Copy)]
pub(super) struct Weights<'w> {
    pub g: &'w GraphBuilder,
    pub stored: &'w dyn DecoderWeights,
}

impl Weights<'_> {
    /// A weight as f32, of these extents.
    pub fn weight(&self, role: WeightRole, shape: &[u64]) -> Value {
        if let ([rows, columns], true) = (shape, self.stored.is_transposed(role)) {
            return self.g.transpose(self.part(role, Part::Weight, &[*columns, *rows]), &[1, 0]);
        }
        self.part(role, Part::Weight, shape)
    }

    /// What is added, as f32 of so many elements.
    pub fn bias(&self, role: WeightRole, shape: &[u64]) -> Value {
        self.part(role, Part::Bias, shape)
    }

    /// x·Wᵀ, or x·Wᵀ + b: f32 \[…, into\] → f32 \[…, out\].
    pub fn linear(&self, role: WeightRole, x: Value, [out, into]: [u64; 2], has_bias: bool) -> Value {
        let weight = self.weight(role, &[out, into]);
        let bias = has_bias.then(|| self.bias(role, &[out]));
        self.g.linear(x, weight, bias)
    }

    /// The weights of a norm that each head has of its own, as f32 \[heads, width\].
    pub fn of_heads(&self, role: WeightRole, [heads, width]: [u64; 2]) -> Value {
        let names = (0..heads).map(|head| self.stored.name_of_head(role, head)).collect::<Option<Vec<_>>>();
        let Some(names) = names else { return self.weight(role, &[heads, width]) };
        let rows: Vec<Value> = names.iter().map(|name| self.param(name, &[width])).collect();
        self.g.reshape(self.g.concat(&rows, 0), &[heads as i64, width as i64])
    }

    fn part(&self, role: WeightRole, part: Part, shape: &[u64]) -> Value {
        self.param(&self.stored.name(role, part), shape)
    }

    fn param(&self, name: &str, shape: &[u64]) -> Value {
        let encoding = self.stored.encoding_of(name, shape);
        let stored = self.g.param(name, tensor(encoding, shape.iter().copied()));
        match encoding {
            Encoding::Plain(DType::F32) => stored,
            Encoding::Plain(_) => self.g.cast(stored, DType::F32),
            // Codes have scales of their own, which a role does not name.
            Encoding::Blocks(_) | Encoding::Codes(_) => self.g.dequantize(stored),
        }
    }
}
