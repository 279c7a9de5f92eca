//! The sum of what was contributed to a gradient.
//!
//! In: contributions, in the order of the nodes that they come from. Out: their sum in that order, but that what adds
//! rows to zeros comes last, and adds them to the sum of the others instead: of a table that an embedding and a product
//! share there is one gradient, without a table of zeros and without a sum of two tables.

use crate::builder::{GraphBuilder, Value};
use crate::entity::ValueId;
use crate::graph::Graph;

/// The sum; none of nothing.
pub(super) fn sum(g: &GraphBuilder, parts: &[Value]) -> Option<Value> {
    let onto_zeros = |part: &&Value| g.look(|graph| part.valid().is_some_and(|v| is_onto_zeros(graph, v)));
    let (mut onto, whole): (Vec<Value>, Vec<Value>) =
        parts.iter().copied().partition(|part| onto_zeros(&part));
    let whole = whole.into_iter().reduce(|sum, part| g.add(sum, part));
    let first = whole.or_else(|| (!onto.is_empty()).then(|| onto.remove(0)))?;
    Some(onto.into_iter().fold(first, |sum, part| added(g, sum, part)))
}

/// What `part` adds to zeros, added to `sum`.
fn added(g: &GraphBuilder, sum: Value, part: Value) -> Value {
    let Some(node) = g.look(|graph| part.valid().map(|v| graph.def(v).clone())) else { return sum };
    let Some(onto) = node.op.adds_onto() else { return g.add(sum, part) };
    let mut operands: Vec<Option<Value>> = node.inputs.iter().map(|v| v.map(|v| g.value_of(v))).collect();
    operands[onto] = Some(sum);
    g.apply_all(node.op, &operands)[0]
}

/// Whether a value is what its node adds to zeros.
fn is_onto_zeros(graph: &Graph, v: ValueId) -> bool {
    let node = graph.def(v);
    let onto = node.op.adds_onto().and_then(|i| node.input(i));
    onto.is_some_and(|data| is_zero(graph, data))
}

/// Whether a value is a constant of zeros, maybe stretched.
fn is_zero(graph: &Graph, v: ValueId) -> bool {
    match graph.constant_data(v) {
        Some(data) => data.bytes().iter().all(|&byte| byte == 0),
        None => {
            let node = graph.def(v);
            node.op.is_movement()
                && node.inputs.len() == 1
                && node.input(0).is_some_and(|x| is_zero(graph, x))
        }
    }
}
