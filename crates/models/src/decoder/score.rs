//! The graph of a decoder that scores texts: the log probability of given tokens, chosen and summed up on the device,
//! so that no row of logits leaves it.

use super::config::DecoderConfig;
use super::layers::{logits, table};
use super::weights::{DecoderWeights, Weights};
use super::{Place, new_tokens};
use crate::error::ModelError;
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::shape::{i32, sym};
use pumice_ir::{Graph, GraphBuilder};
use pumice_types::DimExpr;

/// The model with the caches of [`decoder_graph`](super::decoder_graph), as what says how likely texts are.
///
/// Inputs: `ids` i32[1, t], 1 ≤ t ≤ max_new, the new tokens; `rows` i32\[s\], 1 ≤ s ≤ max_new, places among them, from
/// 0 on; `targets` i32\[s\], the token that follows each of these places. Scalars: `position`, the number of tokens in
/// the caches, which every run advances by t. Output: `log_probs` f32\[s\], ln p of each target, given all tokens up to
/// its place.
///
/// # Errors
/// A configuration that contradicts itself; weights whose rows their encoding cannot hold.
pub fn score_graph_of(
    name: &str,
    config: &DecoderConfig,
    weights: &dyn DecoderWeights,
) -> Result<Graph, ModelError> {
    config.check()?;
    let g = GraphBuilder::new(name);
    let weights = Weights { g: &g, stored: weights };
    let table = table(config, &weights);
    let ids = g.input("ids", i32([1.into(), new_tokens(config)]));
    let scored = sym("s", 1..=config.max_new);
    let (rows, targets) = (g.input("rows", i32([scored.clone()])), g.input("targets", i32([scored])));
    let place = Place::of(&g, config, ids);
    let x = place.decode(config, weights, table, ids);
    let all = g.reshape_to(x, vec![place.new, DimExpr::constant(config.hidden as i64)]);
    let logits = logits(config, &weights, table, g.gather(all, rows, 0));
    let op = SoftmaxCrossEntropy { reduction: LossReduction::None, ..SoftmaxCrossEntropy::default() };
    g.output("log_probs", g.neg(g.softmax_cross_entropy(logits, targets, None, op).0));
    Ok(g.build()?)
}
