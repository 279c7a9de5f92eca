//! The two forms a graph goes through.

use crate::graph::Graph;
use crate::verify::VerifyError;

/// How far a graph has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// As built or imported: every op of the list.
    Source,
    /// Every op has a lowering: nothing that is defined by other ops (`OpKind::Composite`) is left.
    Lowerable,
}

/// Every node that may not occur in that form.
pub fn verify_form(graph: &Graph, form: Form) -> Vec<VerifyError> {
    if form == Form::Source {
        return Vec::new();
    }
    graph
        .nodes()
        .filter(|(_, n)| n.op.is_composite())
        .map(|(id, n)| VerifyError::Form { node: graph.node_name(id).to_owned(), op: n.op.name() })
        .collect()
}
