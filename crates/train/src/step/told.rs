//! Mistakes of an entry, told of the graph that the user wrote: names and places are that graph's, never those of nodes
//! that were added to it.

use crate::error::TrainError;
use crate::names::{LOSS, PENALTY};
use crate::trained::{needed, outputs};
use pumice_ir::{BuildError, BuildErrors, CallSite, GradError, Graph, Mistake};
use std::path::Path;

/// The mistakes of an entry of a forward graph.
pub(super) fn of_entry(graph: &Graph, entry: &'static str, errors: BuildErrors) -> TrainError {
    let told = |mistake: Mistake| {
        let error = of_graph(graph, mistake.error);
        let made = || error.node().and_then(|node| graph.site(node));
        let site = mistake.site.filter(|site| !is_own(site)).or_else(made).filter(|site| !is_own(site));
        Mistake { error, site }
    };
    TrainError::Entry { entry, errors: BuildErrors(errors.0.into_iter().map(told).collect()) }
}

/// Whether a line is of this package. A user's own optimizer makes nodes as well.
fn is_own(site: &CallSite) -> bool {
    let sources = Path::new(file!()).parent().and_then(Path::parent);
    sources.is_some_and(|sources| Path::new(site.file()).starts_with(sources))
}

/// The error with the names of the user's graph: what is read of a trained param is the param, and a way that ends in
/// what an entry makes of loss and penalty ends in the one that the node is of.
fn of_graph(graph: &Graph, error: BuildError) -> BuildError {
    match error {
        BuildError::Grad(GradError::NotDifferentiable { node, op, why, from, loss: _ }) => {
            let (from, loss) = (known(graph, &from), end_of(graph, &node));
            BuildError::Grad(GradError::NotDifferentiable { node, op, why, from, loss })
        }
        BuildError::Grad(GradError::NotReached { loss: _, name }) => {
            let (name, loss) = (known(graph, &name), LOSS.to_owned());
            BuildError::Grad(GradError::NotReached { loss, name })
        }
        error => error,
    }
}

/// The value of the graph that a name is of or is a part of.
fn known(graph: &Graph, name: &str) -> String {
    let mut at = name;
    while graph.find(at).is_none() {
        match at.rsplit_once('.') {
            Some((whole, _)) => at = whole,
            None => return name.to_owned(),
        }
    }
    at.to_owned()
}

/// The output that a node is needed for.
fn end_of(graph: &Graph, node: &str) -> String {
    let of_loss = needed(graph, &outputs(graph, &[LOSS]));
    let of_penalty_alone = graph.find(&known(graph, node)).is_some_and(|v| !of_loss.contains(&v))
        && !outputs(graph, &[PENALTY]).is_empty();
    if of_penalty_alone { PENALTY } else { LOSS }.to_owned()
}
