//! Replaces ops that are defined by other ops by those ops (`OpDef::expand`). Leaves everything else alone. Afterwards
//! the graph is lowerable.

use crate::pipeline::PassCx;
use pumice_ir::{Graph, Patch};

/// One patch for every node that is not kept as it is; of those that become loops one in a round, since each brings a
/// symbol.
pub fn decompose(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let mut loops = 0;
    let mut patches: Vec<Patch> = graph.nodes().filter_map(|(id, node)| node.op.expand(graph, id)).collect();
    patches.retain(|patch| {
        loops += usize::from(patch.found.is_some());
        patch.found.is_none() || loops == 1
    });
    patches
}
