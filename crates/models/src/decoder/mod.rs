//! A small decoder language model: rotary positions, grouped-query heads, RMS norms, a gated feed-forward part.
//!
//! Two graphs of one model come out. [`decoder_graph`] keeps keys and values in states and takes any number of new
//! tokens; [`recompute_graph`] has no state and sees the whole sequence every time. They must agree, which is what the
//! model is for: examples and tests of decoding, with weights from a seed.

mod layers;
mod weights;

pub use weights::{DecoderWeights, Plain, WeightRole};

use self::layers::{KeyValues, choose, decode, logits, table};
use crate::error::ModelError;
use pumice_import::{Model, SeededWeights};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::shape::{DimSpec, i32, sym, tensor};
use pumice_ir::{FloatRange, Graph, GraphBuilder, Value};
use pumice_types::{DType, DimExpr};

/// The shape of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// Rows of the token table and of the output matrix.
    pub vocab: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Number of layers.
    pub layers: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads; they divide `heads`.
    pub kv_heads: u64,
    /// Width of a head; even.
    pub head_width: u64,
    /// Width of the feed-forward part.
    pub intermediate: u64,
    /// Tokens that the caches hold.
    pub capacity: u64,
    /// The most tokens that one run may bring; at most `capacity`.
    pub max_new: u64,
    /// Base of the rotary angles.
    pub theta: f32,
    /// Elements of a head that rotate; even.
    pub rotated: u64,
    /// Whether neighbours rotate as pairs, or the halves of what rotates.
    pub interleaved: bool,
    /// Whether the token table is the output matrix.
    pub tied: bool,
    /// ε of the RMS norms.
    pub norm_eps: f32,
    /// Dtype of the caches: f32, f16 or bf16.
    pub cache: DType,
    /// Tokens after which later replays of a submission do nothing, each below `vocab`.
    pub end_of_sequence: Vec<u32>,
}

impl DecoderConfig {
    /// Two layers, four heads over two, 64 wide: small enough for every test.
    pub fn tiny() -> DecoderConfig {
        DecoderConfig {
            vocab: 256,
            hidden: 64,
            layers: 2,
            heads: 4,
            kv_heads: 2,
            head_width: 16,
            intermediate: 128,
            capacity: 128,
            max_new: 64,
            theta: 10_000.0,
            rotated: 16,
            interleaved: false,
            tied: false,
            norm_eps: 1e-5,
            cache: DType::F32,
            end_of_sequence: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), ModelError> {
        let wrong = |option, problem: &str| Err(ModelError::Option { option, problem: problem.to_owned() });
        if self.kv_heads == 0 || !self.heads.is_multiple_of(self.kv_heads) {
            return wrong("kv_heads", "must divide heads");
        }
        if !self.rotated.is_multiple_of(2) || self.rotated > self.head_width {
            return wrong("rotated", "must be even, because angles turn pairs, and at most head_width");
        }
        if self.max_new == 0 || self.max_new > self.capacity {
            return wrong("max_new", "must be from 1 to capacity");
        }
        if self.end_of_sequence.iter().any(|&end| u64::from(end) >= self.vocab || end > i32::MAX as u32) {
            return wrong("ends", "must be tokens of the vocabulary");
        }
        if !FloatRange::NOT_NEGATIVE.holds(f64::from(self.norm_eps)) {
            return wrong("norm_eps", "must be finite and not negative");
        }
        if !FloatRange::POSITIVE.holds(f64::from(self.theta)) {
            return wrong("theta", "must be finite and positive");
        }
        if self.capacity > 1 << 24 {
            return wrong("capacity", "must be at most 2^24");
        }
        Ok(())
    }
}

/// The model with states.
///
/// Inputs: `ids` i32[1, t], 1 ≤ t ≤ max_new, the new tokens; an id of −1 stands for the token that the last run chose,
/// so a caller that generates need not know it. Scalars: `position`, the number of tokens in the caches, which every
/// run advances by t; setting it back forgets what lies after it. Outputs: `logits` f32[1, vocab] of the last token and
/// `next` i32[1, 1], the largest of them; where the configuration names ends also `ended` bool[1, 1], whether `next` is
/// one, after which later replays of the submission do nothing. States: the caches, `last` i32[1, 1], and `history`
/// i32[1, capacity + 1], in which the token chosen for position p is at p.
pub fn decoder_graph(name: &str, config: &DecoderConfig) -> Result<Graph, ModelError> {
    decoder_graph_of(name, config, &Plain)
}

/// As [`decoder_graph`], with weights of other names and encodings.
///
/// # Errors
/// A configuration that contradicts itself; weights whose rows their encoding cannot hold.
pub fn decoder_graph_of(
    name: &str,
    config: &DecoderConfig,
    weights: &dyn DecoderWeights,
) -> Result<Graph, ModelError> {
    config.check()?;
    let g = GraphBuilder::new(name);
    let table = table(&g, config, weights);
    let given = g.input("ids", i32([1.into(), new_tokens(config)]));
    let t = g.dim_of(given, 1);
    let position = g.scalar_advancing("position", 0, config.capacity as i32, 0, t.clone());
    let end = g.add(position, g.extent(given, 1));

    let last = g.state("last", i32([1u64, 1]));
    let is_last = g.less(given, g.constant_scalar(DType::I32, 0.0));
    let ids = g.select(is_last, g.state_read(last), given);

    let x = decode(&g, config, weights, table, ids, position, |i, k, v| {
        let append = |name: &str, x| append_to_cache(&g, config, &format!("layer.{i}.{name}"), x, position);
        KeyValues { k: append("k_cache", k), v: append("v_cache", v), len: Some(end) }
    });
    let tail = g.narrow(x, 1, t - DimExpr::constant(1), 1);
    let logits = logits(&g, config, weights, table, g.reshape(tail, &[1, config.hidden as i64]));
    let next = choose(&g, logits, &[1, 1]);
    let history = g.state("history", i32([1, config.capacity + 1]));
    g.kv_append(history, next, end, 1, AppendMode::Linear);
    g.state_write(last, next);
    outputs(&g, config, logits, next);
    Ok(g.build()?)
}

/// Keys or values of new tokens, in a cache of that name.
fn append_to_cache(g: &GraphBuilder, config: &DecoderConfig, name: &str, x: Value, position: Value) -> Value {
    let ty = tensor(config.cache, [1, config.capacity, config.kv_heads, config.head_width]);
    g.kv_append(g.cache(name, ty, 1), x, position, 1, AppendMode::Linear)
}

/// What a run of [`decoder_graph`] gives.
fn outputs(g: &GraphBuilder, config: &DecoderConfig, logits: Value, next: Value) {
    g.output("logits", logits);
    g.output("next", next);
    if let Some(ended) = ended(g, config, next) {
        g.output("ended", ended);
        g.stop("ended");
    }
}

/// Whether a token is one after which the text ends; nothing where there is none.
fn ended(g: &GraphBuilder, config: &DecoderConfig, token: Value) -> Option<Value> {
    let is = |&end: &u32| g.equal(token, g.constant_scalar(DType::I32, f64::from(end)));
    config.end_of_sequence.iter().map(is).reduce(|a, b| g.or(a, b))
}

/// The model without states: `ids` i32[1, t] → `logits` f32[t, vocab] of every token and `next` i32[t, 1].
///
/// # Errors
/// A configuration that contradicts itself.
pub fn recompute_graph(name: &str, config: &DecoderConfig) -> Result<Graph, ModelError> {
    recompute_graph_of(name, config, &Plain)
}

/// As [`recompute_graph`], with weights of other names and encodings.
///
/// # Errors
/// As [`decoder_graph_of`].
pub fn recompute_graph_of(
    name: &str,
    config: &DecoderConfig,
    weights: &dyn DecoderWeights,
) -> Result<Graph, ModelError> {
    config.check()?;
    let g = GraphBuilder::new(name);
    let tokens = sym("t", 1..=config.capacity);
    let ids = g.input("ids", i32([1.into(), tokens]));
    let t = g.dim_of(ids, 1);
    let zero = g.constant_scalar(DType::I32, 0.0);
    let table = table(&g, config, weights);
    let x = decode(&g, config, weights, table, ids, zero, |_, k, v| KeyValues { k, v, len: None });
    let rows = g.reshape_to(x, vec![t.clone(), DimExpr::constant(config.hidden as i64)]);
    let logits = logits(&g, config, weights, table, rows);
    g.output("logits", logits);
    g.output("next", choose(&g, logits, &[-1, 1]));
    Ok(g.build()?)
}

/// A graph of [`decoder_graph`] with weights from a seed. [`recompute_graph`] has the same parameters, so the same seed
/// gives it the same weights.
pub fn seeded(graph: Graph, seed: u64) -> Result<Model, ModelError> {
    let weights = Box::new(SeededWeights::for_graph(&graph, seed)?);
    Ok(Model { graph, weights })
}

fn new_tokens(config: &DecoderConfig) -> DimSpec {
    sym("t", 1..=config.max_new)
}
