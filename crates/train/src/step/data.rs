//! Inputs that lie on the device as a data set, of which a batch is rows.

use crate::error::TrainError;
use crate::names;
use crate::recipe::{DataSet, Recipe};
use pumice_ir::{Graph, ValueId};
use pumice_types::DType;

/// The graph that takes its inputs from the recipe's data set, as far as it has them.
pub(super) fn from_tables(graph: Graph, recipe: &Recipe) -> Graph {
    let Some(DataSet { rows, inputs }) = &recipe.data_set else { return graph };
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    // What has no such form was a mistake before.
    graph.with_inputs_from_tables(names::INDEX, *rows, &inputs, &|input| names::data(input)).unwrap_or(graph)
}

/// Inputs of a recipe that cannot be rows of its data set.
pub(super) fn mistakes(graph: &Graph, recipe: &Recipe) -> Vec<TrainError> {
    let Some(DataSet { rows, inputs }) = &recipe.data_set else { return Vec::new() };
    if inputs.is_empty() {
        return vec![TrainError::Recipe("a data set has one input at least".to_owned())];
    }
    let first = inputs.iter().find_map(|name| find(graph, name));
    let wrong_rows = !i32::try_from(*rows).is_ok_and(|rows| rows >= 1);
    let reason = |name: &str| match find(graph, name) {
        _ if wrong_rows => Some("it has 1 to 2,147,483,647 rows".to_owned()),
        None => Some("the graph has no such input".to_owned()),
        Some(input) => wrong_extents(graph, input, first).or_else(|| taken(graph, name)),
    };
    let twice = |i: usize| inputs[..i].contains(&inputs[i]).then(|| "it is named twice".to_owned());
    let all = inputs.iter().enumerate();
    let wrong = all.filter_map(|(i, name)| Some((name, twice(i).or_else(|| reason(name))?)));
    wrong.map(|(input, reason)| TrainError::DataSet { input: input.clone(), reason }).collect()
}

fn find(graph: &Graph, input: &str) -> Option<ValueId> {
    graph.inputs().into_iter().find(|&v| &*graph.value(v).name == input)
}

/// The name of the data set's own that another value has.
fn taken(graph: &Graph, input: &str) -> Option<String> {
    let own = [names::INDEX.to_owned(), names::data(input)];
    let taken = own.into_iter().find(|name| graph.find(name).is_some());
    taken.map(|name| format!("the name `{name}` is taken"))
}

/// What is wrong with an input beside the first one of the data set.
fn wrong_extents(graph: &Graph, input: ValueId, first: Option<ValueId>) -> Option<String> {
    let ty = graph.ty(input);
    let extents = ty.shape.get(1..).unwrap_or_default();
    let rows_of_first = first.and_then(|first| graph.ty(first).shape.first());
    let shown = || ty.display(graph.symbols());
    if ty.shape.is_empty() || extents.iter().any(|extent| extent.as_extent().is_none()) {
        return Some(format!("it is {}; only the first extent may be symbolic", shown()));
    }
    if ty.encoding.plain() == Some(DType::Bool) {
        return Some("no state is of bools".into());
    }
    let unlike = rows_of_first != ty.shape.first();
    unlike.then(|| format!("it is {}, of other rows than the first input of the data set", shown()))
}
