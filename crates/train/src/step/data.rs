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
    let all = graph.inputs();
    let find = |name: &str| all.iter().copied().find(|&v| &*graph.value(v).name == name);
    let first = inputs.iter().find_map(|name| find(name));
    let reason = |name: &str| {
        let found = find(name);
        let why = found.and_then(|v| wrong_extents(graph, v, first));
        let taken =
            [names::INDEX.to_owned(), names::data(name)].into_iter().find(|n| graph.find(n).is_some());
        match found {
            _ if i32::try_from(*rows).map_or(true, |rows| rows < 1) => {
                Some("it has 1 to 2,147,483,647 rows".into())
            }
            None => Some("the graph has no such input".into()),
            Some(_) => why.or_else(|| taken.map(|name| format!("the name `{name}` is taken"))),
        }
    };
    let wrong = inputs.iter().filter_map(|name| Some((name, reason(name)?)));
    wrong.map(|(input, reason)| TrainError::DataSet { input: input.clone(), reason }).collect()
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
