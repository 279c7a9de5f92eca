//! The weights of a decoder: which there are, what they are called and how they are stored.

use pumice_ir::shape::tensor;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Encoding};

/// A weight by its place in the model; numbers count layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightRole {
    /// The token table \[vocab, hidden\].
    Embedding,
    /// The output matrix \[vocab, hidden\].
    Output,
    /// The last norm \[hidden\].
    Norm,
    /// The norm before attention \[hidden\].
    AttentionNorm(u64),
    /// Queries \[heads · width, hidden\].
    Query(u64),
    /// Keys \[kv_heads · width, hidden\].
    Key(u64),
    /// Values \[kv_heads · width, hidden\].
    Value(u64),
    /// What follows attention \[hidden, heads · width\].
    AttentionOutput(u64),
    /// The norm before the feed-forward part \[hidden\].
    FeedNorm(u64),
    /// Its gate \[intermediate, hidden\].
    Gate(u64),
    /// What the gate lets through \[intermediate, hidden\].
    Up(u64),
    /// Back to the residual stream \[hidden, intermediate\].
    Down(u64),
}

/// Names and encodings of a decoder's weights.
pub trait DecoderWeights {
    /// The name of its param.
    fn name(&self, role: WeightRole) -> String;

    /// How it is stored.
    fn encoding(&self, role: WeightRole) -> Encoding;
}

/// Names of this crate's own, everything f32.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl DecoderWeights for Plain {
    fn name(&self, role: WeightRole) -> String {
        let (layer, name) = match role {
            WeightRole::Embedding => return "embedding.weight".to_owned(),
            WeightRole::Output => return "output.weight".to_owned(),
            WeightRole::Norm => return "norm.weight".to_owned(),
            WeightRole::AttentionNorm(i) => (i, "attention_norm"),
            WeightRole::Query(i) => (i, "q"),
            WeightRole::Key(i) => (i, "k"),
            WeightRole::Value(i) => (i, "v"),
            WeightRole::AttentionOutput(i) => (i, "attention_output"),
            WeightRole::FeedNorm(i) => (i, "feed_norm"),
            WeightRole::Gate(i) => (i, "gate"),
            WeightRole::Up(i) => (i, "up"),
            WeightRole::Down(i) => (i, "down"),
        };
        format!("layer.{layer}.{name}.weight")
    }

    fn encoding(&self, _: WeightRole) -> Encoding {
        Encoding::Plain(DType::F32)
    }
}

/// A weight as f32, of these extents.
pub(super) fn weight(
    g: &GraphBuilder,
    weights: &dyn DecoderWeights,
    role: WeightRole,
    shape: &[u64],
) -> Value {
    let encoding = weights.encoding(role);
    let stored = g.param(&weights.name(role), tensor(encoding, shape.iter().copied()));
    match encoding {
        Encoding::Plain(DType::F32) => stored,
        Encoding::Plain(_) => g.cast(stored, DType::F32),
        // Codes have scales of their own, which a role does not name: the graph says so where it is built.
        Encoding::Blocks(_) | Encoding::Codes(_) => g.dequantize(stored),
    }
}
