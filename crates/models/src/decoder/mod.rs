//! Decoder language models: a description of their layers as data ([`DecoderConfig`]), and their graphs.
//!
//! Two graphs of one model come out. [`decoder_graph`] keeps keys and values in states and takes any number of new
//! tokens; [`recompute_graph`] has no state and sees the whole sequence every time. They must agree, which is what the
//! model is for: examples and tests of decoding, with weights from a seed. [`score_graph_of`] says how likely given
//! tokens are.

mod config;
mod layers;
mod score;
mod weights;

pub use config::{
    DecoderConfig, Factors, FeedForward, Growth, Layer, Norm, NormKind, NormOver, QueryKeyNorm,
    RotaryFactors, Rotation, SelfAttention,
};
pub use score::score_graph_of;
pub use weights::{DecoderWeights, LayerWeight, Part, Plain, WeightRole};

use self::layers::{Decoder, KeyValues, choose, logits, table};
use self::weights::Weights;
use crate::error::ModelError;
use pumice_import::{Model, SeededWeights};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::shape::{DimSpec, i32, sym, tensor};
use pumice_ir::{Graph, GraphBuilder, Value};
use pumice_types::{DType, DimExpr};
use std::cell::OnceCell;

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
    let weights = Weights { g: &g, stored: weights };
    let table = table(config, &weights);
    let given = g.input("ids", i32([1.into(), new_tokens(config)]));
    let place = Place::of(&g, config, given);

    let last = g.state("last", i32([1u64, 1]));
    let is_last = g.less(given, g.constant_scalar(DType::I32, 0.0));
    let ids = g.select(is_last, g.state_read(last), given);

    let x = place.decode(config, weights, table, ids);
    let tail = g.narrow(x, 1, place.new - DimExpr::constant(1), 1);
    let logits = logits(config, &weights, table, g.reshape(tail, &[1, config.hidden as i64]));
    let next = choose(&g, logits, &[1, 1]);
    let history = g.state("history", i32([1, config.capacity + 1]));
    g.kv_append(history, next, place.end, 1, AppendMode::Linear);
    g.state_write(last, next);
    outputs(&g, config, logits, next);
    Ok(g.build()?)
}

/// Where new tokens lie in the caches.
struct Place {
    /// How many they are.
    new: DimExpr,
    /// The position of the first, by which every run advances, and the one after the last.
    position: Value,
    end: Value,
}

impl Place {
    /// Of ids i32[1, t].
    fn of(g: &GraphBuilder, config: &DecoderConfig, ids: Value) -> Place {
        let new = g.dim_of(ids, 1);
        let position = g.scalar_advancing("position", 0, config.capacity as i32, 0, new.clone());
        Place { new, position, end: g.add(position, g.extent(ids, 1)) }
    }

    /// What the layers make of the tokens, f32[1, t, hidden]; their keys and values come into the caches.
    fn decode(&self, config: &DecoderConfig, weights: Weights<'_>, table: Value, ids: Value) -> Value {
        let (g, position) = (weights.g, self.position);
        let remember = |i, k, v| {
            let append = |name: &str, x| append_to_cache(g, config, (i, name), x, position);
            KeyValues { k: append("k_cache", k), v: append("v_cache", v), len: Some(self.end) }
        };
        Decoder { config, weights, position, factors: OnceCell::new(), remember }.decode(table, ids)
    }
}

/// Keys or values of new tokens, in a layer's cache of that name.
fn append_to_cache(
    g: &GraphBuilder,
    config: &DecoderConfig,
    (i, name): (u64, &str),
    x: Value,
    position: Value,
) -> Value {
    let SelfAttention { kv_heads, width, .. } = config.layers[i as usize].attention;
    let ty = tensor(config.cache, [1, config.capacity, kv_heads, width]);
    g.kv_append(g.cache(&format!("layer.{i}.{name}"), ty, 1), x, position, 1, AppendMode::Linear)
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

/// The model without states: `ids` i32[1, t] → `logits` f32[t, vocab] of every token and `next` i32[t, 1]. Keys and
/// values are rounded as caches of the configuration's type would hold them.
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
    let weights = Weights { g: &g, stored: weights };
    let table = table(config, &weights);
    let rounded = |x| match config.cache {
        DType::F32 => x,
        cache => g.cast(g.cast(x, cache), DType::F32),
    };
    let remember = |_, k, v| KeyValues { k: rounded(k), v: rounded(v), len: None };
    let x =
        Decoder { config, weights, position: zero, factors: OnceCell::new(), remember }.decode(table, ids);
    let rows = g.reshape_to(x, vec![t.clone(), DimExpr::constant(config.hidden as i64)]);
    let logits = logits(config, &weights, table, rows);
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
