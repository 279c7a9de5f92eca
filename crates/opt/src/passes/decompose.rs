//! Replaces ops that are defined by other ops by those ops. Leaves everything else alone. Afterwards the
//! graph is lowerable.

use crate::decompose::decompose_node;
use crate::pipeline::PassCx;
use pumice_ir::{Graph, Patch};

/// One patch for every node that the target does not run as it is.
pub fn decompose(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, _)| decompose_node(graph, id, cx.target)).collect()
}
