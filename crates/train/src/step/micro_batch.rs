//! Micro-batches: batches that are cut along a symbol of which rows do not meet (DESIGN 11.6).
//!
//! In: the forward graph and how many rows a micro-batch has at most. Out: the graph that takes so many, and what a
//! host needs to cut batches. Rows may not meet in the loss; that they do not is what the user says, and what speaks
//! against it is a mistake. Never here: batches.

use crate::error::TrainError;
use crate::names;
use crate::recipe::Recipe;
use pumice_ir::{Constraint, Graph, Node, ValueId};
use pumice_types::{DimExpr, Symbol, SymbolId};
use std::ops::Range;

/// How batches are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroBatches {
    /// How many rows a micro-batch has; the last one of a batch may have fewer.
    pub rows: u64,
    /// The symbol along which batches are cut, with the range that those of a batch have.
    pub symbol: Symbol,
    /// The inputs that are cut along their first axis, [`names::INDEX`] of a data set among them. All others are the
    /// same for each micro-batch.
    pub inputs: Vec<String>,
    /// Whether the forward graph has no output `weight`, so that entries have the input [`names::SHARE`].
    pub by_share: bool,
}

impl MicroBatches {
    /// The rows of each micro-batch of a batch; a batch without rows is one.
    ///
    /// # Errors
    /// Why a batch of so many rows cannot be cut so.
    pub fn of(&self, rows: u64) -> Result<Vec<Range<u64>>, String> {
        let Symbol { min, max, multiple_of, .. } = self.symbol;
        if !(min..=max).contains(&rows) || !rows.is_multiple_of(multiple_of.max(1)) {
            return Err(format!("the graph takes {}", self.symbol));
        }
        let last = rows % self.rows;
        if rows > self.rows && last != 0 && last < min {
            return Err(format!(
                "in micro-batches of {} it leaves {last}, and the graph takes {min} at least",
                self.rows
            ));
        }
        let begins = (0..rows.max(1)).step_by(usize::try_from(self.rows).unwrap_or(usize::MAX));
        Ok(begins.map(|begin| begin..rows.min(begin.saturating_add(self.rows))).collect())
    }

    /// What a micro-batch weighs where the graph gives no weight: its share of the rows.
    pub fn share(&self, part: &Range<u64>, rows: u64) -> f32 {
        if rows == 0 { 1.0 } else { ((part.end - part.start) as f64 / rows as f64) as f32 }
    }
}

/// The numbers of rows that micro-batches may have for a graph and a recipe, the largest, whole batches, first: half of
/// it and so on down to the fewest that the graph takes. Empty where the recipe names no symbol of the graph.
pub fn micro_batch_sizes(graph: &Graph, recipe: &Recipe) -> Vec<u64> {
    let id = recipe.rows_apart.as_ref().and_then(|name| graph.symbols().find(name));
    let Some(symbol) = id.and_then(|id| graph.symbols().get(id)) else { return Vec::new() };
    let step = symbol.multiple_of.max(1);
    let fewest = symbol.min.max(1).next_multiple_of(step);
    let halved = |&rows: &u64| (rows > fewest).then(|| (rows / 2).next_multiple_of(step).max(fewest));
    // A half that is no smaller ends it.
    let smaller = |rows: &u64| halved(rows).filter(|half| half < rows);
    std::iter::successors(Some(symbol.max), smaller).collect()
}

/// How a graph is cut, and what speaks against it.
pub(super) fn cut(graph: &Graph, recipe: &Recipe, rows: u64) -> (Option<MicroBatches>, Vec<TrainError>) {
    let Some(name) = &recipe.rows_apart else { return (None, vec![TrainError::NoRowsApart]) };
    let not_cut = |reason: String| TrainError::NotCut { symbol: name.clone(), reason };
    let found = graph.symbols().find(name).and_then(|id| Some((id, graph.symbols().get(id)?)));
    let Some((id, symbol)) = found else {
        return (None, vec![not_cut("the graph has no such symbol".into())]);
    };
    let inputs = inputs_of_rows(graph, recipe, id);
    let mut wrong: Vec<TrainError> = wrong_rows(symbol, rows).map(not_cut).into_iter().collect();
    if inputs.is_empty() {
        wrong.push(not_cut("no input begins with it".into()));
    }
    wrong.extend(taken_names(graph, name).map(not_cut));
    wrong.extend(inputs_across(graph, id));
    wrong.extend(ties(graph, id).map(not_cut));
    if !recipe.per_micro_batch {
        wrong.extend(meeting(&graph.with_outputs(&[names::LOSS, names::WEIGHT]), id));
    }
    if recipe.unguarded {
        let what = "what is unguarded is updated by whole batches; micro-batches accumulate";
        wrong.push(TrainError::Recipe(what.into()));
    }
    let by_share = !graph.outputs().iter().any(|o| o.name == names::WEIGHT);
    (Some(MicroBatches { rows, symbol: symbol.clone(), inputs, by_share }), wrong)
}

/// The forward graph of micro-batches.
pub(super) fn narrowed(graph: &Graph, cut: &MicroBatches) -> Option<Graph> {
    let Symbol { name, min, max, .. } = &cut.symbol;
    let id = graph.symbols().find(name)?;
    graph.with_symbol_within(id, &names::micro_batch(name), *min..=cut.rows.min(*max))
}

/// Why micro-batches cannot have so many rows.
fn wrong_rows(symbol: &Symbol, rows: u64) -> Option<String> {
    match rows {
        _ if symbol.found => Some("the graph finds it while it runs".into()),
        0 => Some("a micro-batch has one row at least, not 0".into()),
        _ if rows < symbol.min => Some(format!("a micro-batch of {rows} is fewer than {symbol}")),
        _ if !rows.is_multiple_of(symbol.multiple_of.max(1)) => {
            Some(format!("a micro-batch of {rows} is no step of {symbol}"))
        }
        _ => None,
    }
}

/// Names that entries of micro-batches give, and that something of the graph has.
fn taken_names(graph: &Graph, symbol: &str) -> Option<String> {
    let micro = names::micro_batch(symbol);
    let taken = graph.symbols().find(&micro).map(|_| micro.as_str());
    let taken = taken.or_else(|| graph.find(names::SHARE).map(|_| names::SHARE));
    taken.map(|name| format!("the name `{name}` is taken"))
}

/// The inputs that begin with a symbol, and the index of those that are a data set.
fn inputs_of_rows(graph: &Graph, recipe: &Recipe, id: SymbolId) -> Vec<String> {
    let begins = |v: &ValueId| graph.ty(*v).shape.first().and_then(DimExpr::as_symbol) == Some(id);
    let inputs = graph.inputs().into_iter().filter(begins);
    let mut inputs: Vec<String> = inputs.map(|v| graph.value(v).name.to_string()).collect();
    if recipe.data_inputs().iter().any(|name| inputs.contains(name)) {
        inputs.push(names::INDEX.to_owned());
    }
    inputs
}

/// Conditions that hold of whole batches, and may not of their parts.
fn ties(graph: &Graph, id: SymbolId) -> impl Iterator<Item = String> {
    let named = move |c: &&Constraint| [&c.left, &c.right].iter().any(|e| names_symbol(e, id));
    let all = graph.constraints().iter().filter(named);
    all.map(|c| format!("a condition ties it: {}", c.what_and_where()))
}

/// Inputs with the symbol elsewhere than as their first extent.
fn inputs_across(graph: &Graph, id: SymbolId) -> Vec<TrainError> {
    let across = |v: &ValueId| {
        let extents = graph.ty(*v).shape.iter().enumerate();
        let named = extents.filter(|(_, extent)| names_symbol(extent, id));
        named.into_iter().any(|(axis, extent)| axis > 0 || extent.as_symbol() != Some(id))
    };
    let all = graph.inputs().into_iter().filter(across);
    let symbol = |graph: &Graph| graph.symbols().get(id).map_or_else(String::new, |s| s.name.clone());
    let wrong = all.map(|v| TrainError::NotRows {
        input: graph.value(v).name.to_string(),
        ty: graph.ty(v).display(graph.symbols()),
        symbol: symbol(graph),
    });
    wrong.collect()
}

/// Nodes in which rows meet: what has statistics of a batch, and the first that hold rows against rows.
fn meeting(graph: &Graph, id: SymbolId) -> Vec<TrainError> {
    let has_rows = |v: ValueId| graph.ty(v).shape.iter().any(|extent| names_symbol(extent, id));
    let squared = |v: ValueId| graph.ty(v).shape.iter().filter(|extent| names_symbol(extent, id)).count() > 1;
    let how = |node: &Node| {
        let against = squared(node.output()) && !node.operands().any(squared);
        match node.op.has_batch_statistics() && node.operands().any(has_rows) {
            true => Some("has the statistics of a batch"),
            false => against.then_some("holds rows against rows, as in-batch negatives do"),
        }
    };
    let wrong = graph.nodes().filter_map(|(node_id, node)| {
        let (node_name, op) = (graph.node_name(node_id).to_owned(), node.op.name());
        how(node).map(|how| TrainError::RowsMeet { node: node_name, op, how })
    });
    wrong.collect()
}

fn names_symbol(extent: &DimExpr, id: SymbolId) -> bool {
    extent.find_var(|v| v.symbol() == Some(id)).is_some()
}
