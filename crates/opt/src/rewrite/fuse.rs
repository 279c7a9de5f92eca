//! Making one `Fused` node of a set of nodes.
//!
//! In: nodes in graph order, the values of theirs that are needed outside. Out: a patch. The body takes the operands in
//! the order of their first use; its symbols are the graph's; constants of one element are copied into it, because
//! lowering writes them into the kernel. Never here: a decision about what to fuse.

use pumice_ir::ops::{Fused, Op};
use pumice_ir::{Graph, GraphBuilder, NodeId, Patch, PatchRef, Value, ValueId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a value is a constant of one element, which is written into the body instead of being an operand.
pub fn is_literal(graph: &Graph, v: ValueId) -> bool {
    graph.constant_data(v).is_some_and(|data| data.shape().iter().all(|&d| d == 1))
}

/// Values that the nodes take from outside, in the order of their first use; literals are not among them.
pub fn operands(graph: &Graph, nodes: &[NodeId]) -> Vec<ValueId> {
    let mut found = Vec::new();
    for v in nodes.iter().flat_map(|&n| graph.node(n).operands()) {
        let inside = nodes.binary_search(&graph.value(v).def.0).is_ok();
        if !inside && !is_literal(graph, v) && !found.contains(&v) {
            found.push(v);
        }
    }
    found
}

/// The patch that replaces `nodes` (in graph order) by one node of that kind with these results; the node has the name
/// of the first one. `None` if the nodes do not make a graph, which a set without cycles always does.
pub fn fuse(graph: &Graph, kind: &str, nodes: &[NodeId], results: &[ValueId]) -> Option<Patch> {
    let outside = operands(graph, nodes);
    let body = body(graph, nodes, &outside, results)?;
    let name = &graph.value(*results.first()?).name;
    let mut patch = Patch::new(format!("fuse {kind} {name}"));
    let operands: Vec<PatchRef> = outside.into_iter().map(PatchRef::Old).collect();
    let fused = patch.add(Fused { kind: kind.to_owned(), body: Arc::new(body) }, Arc::clone(name), &operands);
    let PatchRef::New(index, _) = fused else { return None };
    for (i, &v) in results.iter().enumerate() {
        patch.replace(v, PatchRef::New(index, i as u16));
    }
    Some(patch)
}

fn body(graph: &Graph, nodes: &[NodeId], outside: &[ValueId], results: &[ValueId]) -> Option<Graph> {
    let g = GraphBuilder::with_symbols("body", graph.symbols().clone());
    let used = nodes.iter().flat_map(|&id| graph.node(id).operands());
    g.reserve(outside.len() + nodes.len() + used.filter(|&v| is_literal(graph, v)).count());
    let mut made: BTreeMap<ValueId, Value> = BTreeMap::new();
    for &v in outside {
        made.insert(v, g.input(&graph.value(v).name, graph.ty(v).clone()));
    }
    for &id in nodes {
        add_node(&g, graph, id, &mut made);
    }
    for v in results {
        g.output(&graph.value(*v).name, *made.get(v)?);
    }
    g.build().ok()
}

/// Adds a node of a graph, on what was made of the graph's values so far; of a fused node those of its body.
fn add_node(g: &GraphBuilder, graph: &Graph, id: NodeId, made: &mut BTreeMap<ValueId, Value>) {
    let node = graph.node(id);
    for v in node.operands() {
        if let (false, Some(data)) = (made.contains_key(&v), graph.constant_data(v)) {
            made.insert(v, g.named(&graph.value(v).name).constant(data.clone()));
        }
    }
    let inputs: Vec<Option<Value>> =
        node.inputs.iter().map(|v| v.and_then(|v| made.get(&v).copied())).collect();
    let values = match node.op.body() {
        Some(body) => add_body(g, body, &inputs),
        None => g.named(graph.node_name(id)).apply_all(node.op.clone(), &inputs),
    };
    made.extend(node.outputs.iter().copied().zip(values));
}

/// Adds the nodes of a body, on its inputs; its results.
fn add_body(g: &GraphBuilder, body: &Graph, inputs: &[Option<Value>]) -> Vec<Value> {
    let mut inputs = inputs.iter().copied().flatten();
    let mut made = BTreeMap::new();
    for (id, node) in body.nodes() {
        match (&node.op, inputs.clone().next()) {
            (Op::Input(_), Some(x)) => {
                made.insert(node.output(), x);
                inputs.next();
            }
            (Op::Constant(_), _) => {}
            _ => add_node(g, body, id, &mut made),
        }
    }
    body.outputs().iter().filter_map(|o| made.get(&o.value).copied()).collect()
}

/// Values of the nodes that are needed outside of them, in graph order.
pub fn escaping(graph: &Graph, facts: &super::Facts, nodes: &[NodeId]) -> Vec<ValueId> {
    let leaves = |&v: &ValueId| {
        facts.is_output(v) || facts.users(v).iter().any(|user| nodes.binary_search(user).is_err())
    };
    nodes.iter().flat_map(|&n| graph.node(n).outputs.iter().copied()).filter(leaves).collect()
}

/// As [`escaping`], the last one first: a fused node has the name of what it ends in.
pub fn results(graph: &Graph, facts: &super::Facts, nodes: &[NodeId]) -> Vec<ValueId> {
    let mut results = escaping(graph, facts, nodes);
    if let Some(last) = results.pop() {
        results.insert(0, last);
    }
    results
}

/// One patch for every `Fused` node, with the nodes of its body in its place: the oracle of every fusion.
pub fn unfuse(graph: &Graph) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, _)| unfuse_node(graph, id)).collect()
}

fn unfuse_node(graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let body = node.op.body()?;
    let mut patch = Patch::new(format!("unfuse {}", graph.node_name(id)));
    let mut place: Vec<Option<PatchRef>> = vec![None; body.value_count()];
    let mut operands = node.operands();
    for (inner, n) in body.nodes() {
        if matches!(n.op, Op::Input(_)) {
            place[n.output().index()] = operands.next().map(PatchRef::Old);
            continue;
        }
        let inputs = n.inputs.iter().map(|v| v.and_then(|v| place[v.index()])).collect();
        let PatchRef::New(index, _) = patch.add_opt(n.op.clone(), body.node_name(inner), inputs) else {
            continue;
        };
        for (i, v) in n.outputs.iter().enumerate() {
            place[v.index()] = Some(PatchRef::New(index, i as u16));
        }
    }
    for (&outer, inner) in node.outputs.iter().zip(body.outputs()) {
        patch.replace(outer, place[inner.value.index()]?);
    }
    Some(patch)
}
