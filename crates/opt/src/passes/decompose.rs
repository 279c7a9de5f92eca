//! Replaces ops that are defined by other ops by those ops (`OpDef::expand`). Leaves everything else alone. Afterwards the
//! graph is lowerable.

use crate::pipeline::PassCx;
use pumice_ir::{Graph, Patch};

/// One patch for every node that is not kept as it is.
pub fn decompose(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, node)| node.op.expand(graph, id)).collect()
}
