//! The entries of a program that trains: `step`, `accumulate`, `update`, `eval`, `predict`.
//!
//! In: a forward graph and a recipe. Out: graphs over the same params and states. Trained params are states in each of
//! them, read once; updates are written at the end. Never here: what one op's gradient is, what one optimizer does.

mod accumulate;
mod data;
mod forward;
mod guard;
mod infer;
mod rows;
mod scale;
mod update;

use crate::error::{TrainError, TrainErrors};
use crate::names::PENALTY;
use crate::numbers::Numbers;
use crate::recipe::Recipe;
use crate::trained::{Trained, needed, outputs, trained};
use forward::Forward;
use pumice_ir::{Graph, Op};

/// What a graph and a recipe make.
#[derive(Clone)]
pub struct StepGraphs {
    /// One batch, one update. Outputs: those of [`names`](crate::names), `norm`, `flag` and `stop` unless unguarded.
    /// Where a submission has several steps, one batch of those that lie in rows, and an update where it is due.
    pub step: Graph,
    /// One batch, whose gradients are added to the accumulated ones. Only where the recipe accumulates and a submission
    /// has one step.
    pub accumulate: Option<Graph>,
    /// An update of what was accumulated, which is empty after it, whether it was made or not.
    pub update: Option<Graph>,
    /// The outputs of the forward graph as in inference, `weight` among them; nothing is written.
    pub eval: Graph,
    /// As `eval`, the outputs that need no input of the loss alone. None where there are none.
    pub predict: Option<Graph>,
    /// The numbers that the host fills in before updates.
    pub numbers: Numbers,
    /// The params that are trained, in the order of the graph.
    pub trained: Vec<Trained>,
}

impl StepGraphs {
    /// The entries that there are, by the names under which they are compiled.
    pub fn entries(&self) -> Vec<(&'static str, &Graph)> {
        let all = [
            ("step", Some(&self.step)),
            ("accumulate", self.accumulate.as_ref()),
            ("update", self.update.as_ref()),
            ("eval", Some(&self.eval)),
            ("predict", self.predict.as_ref()),
        ];
        all.into_iter().filter_map(|(name, graph)| Some((name, graph?))).collect()
    }
}

/// The entries that train a graph by a recipe.
///
/// The forward graph has the output `loss`, a mean over rows, and may have `weight`, what the mean was divided by, and
/// `penalty`, terms that are added once an update; see [`names`](crate::names). A gradient is that of loss + penalty.
/// An update is left out where loss, penalty or the squared norm of the gradients is not finite, or the weight is 0:
/// then params, slots and the count of updates stay as they are, to the bit. Running statistics move wherever the
/// run's own loss is finite.
///
/// # Errors
/// Every mistake of graph and recipe.
pub fn step_graphs(graph: &Graph, recipe: &Recipe) -> Result<StepGraphs, TrainErrors> {
    let (trained, mut wrong) = trained(graph, recipe);
    wrong.extend(needy_penalty(graph, recipe));
    wrong.extend(infer::missing_outputs(graph, recipe));
    wrong.extend(data::mistakes(graph, recipe));
    if !wrong.is_empty() {
        wrong.extend(forward::without_gradient(graph, &trained));
        return Err(TrainErrors(wrong));
    }
    let forward = Forward { graph, recipe, trained: &trained };
    let accumulates = recipe.accumulate > 1 && recipe.rows() == 1;
    let made = [
        step(&forward).map(Some),
        if accumulates { accumulate::accumulate(&forward).map(Some) } else { Ok(None) },
        if accumulates { accumulate::update(&forward).map(Some) } else { Ok(None) },
        infer::eval(&forward).map(Some),
        infer::predict(&forward),
    ];
    // One op without a gradient is a mistake of two entries; it is told once.
    let mut graphs = Vec::new();
    for entry in made {
        graphs.push(entry.map_err(|error| TrainErrors(vec![error]))?);
    }
    let mut graphs = graphs.into_iter();
    let mut next = || graphs.next().flatten();
    let factors = [1.0].into_iter().chain(recipe.groups.iter().map(|group| group.rate)).collect();
    let numbers = Numbers::new(recipe.optimizer.clone(), recipe.schedule.clone(), factors);
    match (next(), next(), next(), next(), next()) {
        (Some(step), accumulate, update, Some(eval), predict) => {
            Ok(StepGraphs { step, accumulate, update, eval, predict, numbers, trained })
        }
        _ => Err(TrainErrors(vec![TrainError::NoLoss])),
    }
}

/// The entry `step`.
fn step(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let recipe = forward.recipe;
    if recipe.rows() == 1 {
        return update::step(forward);
    }
    let of_batch = if recipe.accumulate > 1 { accumulate::step(forward) } else { update::step(forward) };
    rows::taken_in_turn(&of_batch?, recipe.rows())
}

/// What a penalty needs beside params, where updates have no batch.
fn needy_penalty(graph: &Graph, recipe: &Recipe) -> Vec<TrainError> {
    if recipe.accumulate <= 1 {
        return Vec::new();
    }
    let needed = needed(graph, &outputs(graph, &[PENALTY]));
    let of_runs = graph.leaves(|op| op.is_leaf_interface() && !matches!(op, Op::Param(_)));
    let missing = of_runs.into_iter().filter(|v| needed.contains(v));
    missing.map(|v| TrainError::PenaltyNeeds { input: graph.value(v).name.to_string() }).collect()
}
