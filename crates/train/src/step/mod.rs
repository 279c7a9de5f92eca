//! The entries of a program that trains: `step`, `accumulate`, `update`, `eval`, `predict`.
//!
//! In: a forward graph and a recipe. Out: graphs over the same params and states. Trained params are states in each of
//! them, read once; updates are written at the end. Never here: what one op's gradient is, what one optimizer does.

mod accumulate;
mod data;
mod forward;
mod guard;
mod infer;
mod micro_batch;
mod rows;
mod scale;
mod told;
mod update;

use crate::error::{TrainError, TrainErrors};
use crate::names::PENALTY;
use crate::numbers::Numbers;
use crate::recipe::Recipe;
use crate::trained::{Trained, needed, outputs, trained};
use forward::Forward;
pub use micro_batch::{MicroBatches, micro_batch_sizes};
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
    /// How batches are cut, where they are: all entries but `predict` then take so many rows at most, of the symbol
    /// [`names::micro_batch`](crate::names::micro_batch), and there are `accumulate` and `update` whatever the recipe
    /// accumulates.
    pub micro_batches: Option<MicroBatches>,
}

impl StepGraphs {
    /// The entries that there are, by the names under which they are compiled. Where batches are cut and there is
    /// `accumulate`, `step` is none: all its gradients live at once, which is what micro-batches are there to spare.
    pub fn entries(&self) -> Vec<(&'static str, &Graph)> {
        let accumulates = self.micro_batches.is_some() && self.accumulate.is_some();
        let all = [
            ("step", Some(&self.step).filter(|_| !accumulates)),
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
/// run's own loss is finite, as far as they are themselves.
///
/// # Errors
/// Every mistake of graph and recipe.
pub fn step_graphs(graph: &Graph, recipe: &Recipe) -> Result<StepGraphs, TrainErrors> {
    made(graph, recipe, None)
}

/// As [`step_graphs`], of batches that a host cuts into micro-batches of at most so many rows along the symbol of
/// [`Recipe::rows_apart`]: it runs `accumulate` for each and `update` after the last of an update, so that updates are
/// those of whole batches. `predict` takes all rows at once.
///
/// # Errors
/// Every mistake of graph and recipe; those that speak against cutting are [`TrainError::NoRowsApart`],
/// [`TrainError::NotCut`], [`TrainError::NotRows`] and [`TrainError::RowsMeet`].
pub fn micro_batch_graphs(graph: &Graph, recipe: &Recipe, rows: u64) -> Result<StepGraphs, TrainErrors> {
    made(graph, recipe, Some(rows))
}

fn made(graph: &Graph, recipe: &Recipe, rows: Option<u64>) -> Result<StepGraphs, TrainErrors> {
    let (trained, mut wrong) = trained(graph, recipe);
    let (cut, against) = rows.map_or((None, Vec::new()), |rows| micro_batch::cut(graph, recipe, rows));
    wrong.extend(needy_penalty(graph, recipe.accumulate > 1 || rows.is_some()));
    wrong.extend(infer::missing_outputs(graph, recipe));
    wrong.extend(data::mistakes(graph, recipe));
    wrong.extend(against);
    if !wrong.is_empty() {
        wrong.extend(forward::without_gradient(graph, &trained));
        return Err(TrainErrors(wrong));
    }
    let narrowed = cut.as_ref().and_then(|cut| micro_batch::narrowed(graph, cut));
    let by_share = cut.as_ref().is_some_and(|cut| cut.by_share);
    let whole = Forward { graph, recipe, trained: &trained, by_share };
    let forward = Forward { graph: narrowed.as_ref().unwrap_or(graph), ..whole };
    let graphs = Graphs::of(&forward, &whole, cut.is_some()).map_err(|error| TrainErrors(vec![error]))?;
    let Graphs { step, accumulate, update, eval, predict } = graphs;
    let numbers = Numbers::new(recipe.optimizer.clone(), recipe.schedule.clone(), recipe.factors());
    Ok(StepGraphs { step, accumulate, update, eval, predict, numbers, trained, micro_batches: cut })
}

/// The graphs of the entries.
struct Graphs {
    step: Graph,
    accumulate: Option<Graph>,
    update: Option<Graph>,
    eval: Graph,
    predict: Option<Graph>,
}

impl Graphs {
    /// Of the forward graph that a run takes, and of the one that is predicted by.
    fn of(forward: &Forward<'_>, whole: &Forward<'_>, is_cut: bool) -> Result<Graphs, TrainError> {
        let in_parts = forward.recipe.accumulate > 1 || is_cut;
        let of_runs = in_parts && forward.recipe.rows() == 1;
        Ok(Graphs {
            step: step(forward, in_parts)?,
            accumulate: of_runs.then(|| accumulate::accumulate(forward)).transpose()?,
            update: of_runs.then(|| accumulate::update(forward)).transpose()?,
            eval: infer::eval(forward)?,
            predict: infer::predict(whole)?,
        })
    }
}

/// The entry `step`.
fn step(forward: &Forward<'_>, in_parts: bool) -> Result<Graph, TrainError> {
    let rows = forward.recipe.rows();
    if rows == 1 {
        return update::step(forward);
    }
    let of_batch = if in_parts { accumulate::step(forward) } else { update::step(forward) };
    rows::taken_in_turn(&of_batch?, rows)
}

/// What a penalty needs beside params, where updates have no batch.
fn needy_penalty(graph: &Graph, in_parts: bool) -> Vec<TrainError> {
    if !in_parts {
        return Vec::new();
    }
    let needed = needed(graph, &outputs(graph, &[PENALTY]));
    let of_runs = graph.leaves(|op| op.is_leaf_interface() && !matches!(op, Op::Param(_)));
    let missing = of_runs.into_iter().filter(|v| needed.contains(v));
    missing.map(|v| TrainError::PenaltyNeeds { input: graph.value(v).name.to_string() }).collect()
}
