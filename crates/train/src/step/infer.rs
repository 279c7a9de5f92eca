//! Entries that train nothing: `eval` and `predict`.

use super::forward::{Forward, built};
use crate::error::TrainError;
use crate::names::{LOSS, PENALTY, WEIGHT};
use crate::recipe::Recipe;
use crate::trained::{moving, needed, outputs};
use pumice_ir::{Graph, PatchError, ValueId};
use std::collections::BTreeSet;

/// All outputs of the forward graph, as in inference.
pub(super) fn eval(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = inferring(forward, &names(forward.graph))
        .map_err(|error| TrainError::Rewrite { entry: "eval", error })?;
    if !outputs(&graph, &[WEIGHT]).is_empty() {
        return Ok(graph);
    }
    let g = graph.edit();
    g.output(WEIGHT, forward.weight(&g));
    built(forward.graph, "eval", g)
}

/// The outputs that need no input of the loss alone, or those that the recipe names.
pub(super) fn predict(forward: &Forward<'_>) -> Result<Option<Graph>, TrainError> {
    let asked = forward.recipe.predict.as_ref().map(|names| names.iter().map(String::as_str).collect());
    let outputs: Vec<&str> = asked.unwrap_or_else(|| predictions(forward));
    if outputs.is_empty() {
        return Ok(None);
    }
    let graph = inferring(forward, &outputs);
    graph.map(Some).map_err(|error| TrainError::Rewrite { entry: "predict", error })
}

/// Names that a recipe asks `predict` for and no output has.
pub(super) fn missing_outputs(graph: &Graph, recipe: &Recipe) -> Vec<TrainError> {
    let asked = recipe.predict.iter().flatten();
    let missing = asked.filter(|name| !graph.outputs().iter().any(|o| o.name == **name));
    missing.map(|name| TrainError::NoOutput(name.clone())).collect()
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.outputs().iter().map(|o| o.name.as_str()).collect()
}

/// The graph of these outputs in inference, over the same states.
fn inferring(forward: &Forward<'_>, outputs: &[&str]) -> Result<Graph, PatchError> {
    let names: Vec<&str> = forward.trained.iter().map(|param| param.name.as_str()).collect();
    let graph = forward.graph.with_given_states(&names).without_state_writes()?.for_inference()?;
    Ok(graph.with_outputs(outputs))
}

/// Outputs that need no input of the loss alone: one that no output needs, but the loss, what belongs to it, and what
/// does not move with a trained param, as a count of right answers does not.
fn predictions<'a>(forward: &Forward<'a>) -> Vec<&'a str> {
    let graph = forward.graph;
    let others: Vec<_> =
        graph.outputs().iter().filter(|o| ![LOSS, WEIGHT, PENALTY].contains(&o.name.as_str())).collect();
    let names: BTreeSet<&str> = forward.trained.iter().map(|param| param.name.as_str()).collect();
    let params: BTreeSet<ValueId> =
        graph.params().into_iter().filter(|&v| names.contains(&*graph.value(v).name)).collect();
    let moves = |v: ValueId| !moving(graph, &[v]).is_disjoint(&params);
    let moved: Vec<ValueId> = others.iter().map(|o| o.value).filter(|&v| moves(v)).collect();
    let inputs: BTreeSet<ValueId> = graph.inputs().into_iter().collect();
    let allowed = needed(graph, &moved);
    let of_loss: BTreeSet<ValueId> =
        needed(graph, &outputs(graph, &[LOSS, WEIGHT, PENALTY])).intersection(&inputs).copied().collect();
    let alone: BTreeSet<ValueId> = of_loss.difference(&allowed).copied().collect();
    let free = others.into_iter().filter(|o| needed(graph, &[o.value]).is_disjoint(&alone));
    free.map(|o| o.name.as_str()).collect()
}
