//! Removes nodes that give one of their operands back, and copies of extents that the consumer would make anyway.
//!
//! The rules are the ops' own (`OpDef::simplify`, `OpDef::stretches`), each beside its equation; this drives them.
//! Every rule holds for every value, NaN, −0 and infinities included. A value is never replaced by a version of a
//! state, because a state is read where it is read and not where its value is used; what was written whole may be used
//! where it is read back, so that fusion does not stop at the state.
//!
//! Before: any verified graph. After: no rule finds anything. `Expand` is what a consumer may make itself.

use crate::pipeline::PassCx;
use crate::rewrite::retype::keeps_types;
use pumice_ir::ops::{NodeCx, Simpler};
use pumice_ir::{Conditions, Graph, Op, Patch, PatchRef, ValueId};
use std::cell::LazyCell;

/// The graph's conditions, put together when a rule first asks for them.
type Known<'g> = LazyCell<Conditions, Box<dyn FnOnce() -> Conditions + 'g>>;

/// One patch for every node that a rule removes or shortens.
pub fn eliminate_identities(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let known: Known<'_> = LazyCell::new(Box::new(|| Conditions::of(graph.constraints())));
    let nodes = graph.nodes().map(|(id, _)| NodeCx { graph, id });
    nodes.filter_map(|cx| simplified(&cx, &known).or_else(|| unexpanded(&cx, &known))).collect()
}

/// The node as its op says it more simply.
fn simplified(cx: &NodeCx<'_>, known: &Known<'_>) -> Option<Patch> {
    let (graph, name, node) = (cx.graph, cx.graph.node_name(cx.id), cx.node());
    match node.op.simplify(cx)? {
        Simpler::Value(x) => {
            let mut patch = Patch::new(format!("{name} is {}", graph.value(x).name));
            patch.replace(node.output(), PatchRef::Old(x));
            Some(patch)
        }
        Simpler::Node(op, x) => {
            let skipped = &graph.value(cx.operand(0)?).name;
            let mut patch = Patch::new(format!("{name} skips {skipped}"));
            let y = patch.add(op, name, &[PatchRef::Old(x)]);
            patch.replace(node.output(), y);
            Some(patch)
        }
        Simpler::Operands(operands) => {
            let reads = |v: Option<ValueId>| v.map(PatchRef::Old);
            let mut patch = Patch::new(format!("{name} reads what it depends on alone"));
            let y = patch.add_opt(node.op.clone(), name, operands.iter().copied().map(reads).collect());
            patch.replace(node.output(), y);
            keeps_types(graph, known, cx.id, &operands).then_some(patch)
        }
    }
}

/// op(…, expand(x), …) == op(…, x, …) where the op stretches x to the same extents.
fn unexpanded(cx: &NodeCx<'_>, known: &Known<'_>) -> Option<Patch> {
    let (graph, node) = (cx.graph, cx.node());
    let mut inputs: Vec<Option<ValueId>> = node.inputs.to_vec();
    let mut changed = Vec::new();
    for (i, v) in node.inputs.iter().enumerate() {
        let Some((v, x)) = v.and_then(|v| Some((v, expanded(graph, v)?))) else { continue };
        if !node.op.stretches(cx, i, x) {
            continue;
        }
        inputs[i] = Some(x);
        if keeps_types(graph, known, cx.id, &inputs) {
            changed.push(&*graph.value(v).name);
        } else {
            inputs[i] = Some(v);
        }
    }
    if changed.is_empty() {
        return None;
    }
    let name = graph.node_name(cx.id);
    let mut patch = Patch::new(format!("{name} broadcasts without {}", changed.join(", ")));
    let y = patch.add_opt(node.op.clone(), name, inputs.into_iter().map(|v| v.map(PatchRef::Old)).collect());
    patch.replace(node.output(), y);
    Some(patch)
}

/// What an `Expand` stretches, if the value is one.
fn expanded(graph: &Graph, v: ValueId) -> Option<ValueId> {
    let node = graph.def(v);
    if matches!(node.op, Op::Expand(_)) { node.input(0) } else { None }
}
