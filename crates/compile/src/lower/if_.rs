//! `If`: the steps of both branches write one value, of which those of one run. What only a branch makes is made there
//! at once; anything else is copied.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::elementwise;
use pumice_ir::ops::If;
use pumice_ir::{Demand, Graph, Loops, NodeId, ValueId};
use pumice_types::{Branch, When};

impl Lower for If {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let y = cx.join(node.output())?;
        for (value, otherwise) in node.operands().zip([false, true]) {
            let at = cx.stored(value)?;
            if at == y {
                continue;
            }
            let branch = Branch { taken: self.taken.clone(), otherwise };
            cx.inside(branch, |cx| {
                let at = cx.at(value)?;
                elementwise::copy(cx, &at, &y, "both branches leave their result in one place")
            })?;
        }
        cx.place(node.output(), y);
        Ok(())
    }
}

/// Values that are made in the place where branches join, each with the result of the `If` that joins them.
pub fn made_in_place(graph: &Graph, demand: &Demand, loops: &Loops) -> Vec<(ValueId, ValueId)> {
    let mut made = Vec::new();
    for (id, node) in graph.nodes() {
        let Some(taken) = node.op.branches() else { continue };
        for (value, otherwise) in node.operands().zip([false, true]) {
            let when = demand.when(id).and(Branch { taken: taken.clone(), otherwise });
            // What no turn changes is made once, before the loop whose turns write that place.
            let in_loop = loops.inside(graph.value(value).def.0) == loops.inside(id);
            let same = graph.ty(value) == graph.ty(node.output());
            if same && in_loop && is_its_own(graph, demand, value, &when) {
                made.push((value, node.output()));
            }
        }
    }
    made
}

/// Whether a value is made where these branches are taken and nowhere else.
fn is_its_own(graph: &Graph, demand: &Demand, value: ValueId, when: &When) -> bool {
    let (maker, _) = graph.value(value).def;
    let is_made = !graph.node(maker).op.is_leaf() && !graph.is_state_version(value);
    is_made && !when.is_always() && demand.when(maker) == *when
}
