//! How the weight is stored that a value shows: through decoding, and through weights side by side.

use pumice_ir::{Graph, Op, ValueId};
use pumice_types::Encoding;

/// The encoding that a kernel finds where it reads the value.
pub fn stored(graph: &Graph, v: ValueId) -> Encoding {
    let own = graph.ty(v).encoding;
    let node = graph.def(v);
    if let Some(source) = decoded(graph, v) {
        return graph.ty(source).encoding;
    }
    if !node.op.is_joining(&graph.ty(v).shape) {
        return own;
    }
    let mut all = node.operands().map(|x| decoded(graph, x).map_or(own, |s| graph.ty(s).encoding));
    let first = all.next().unwrap_or(own);
    if all.all(|e| e == first) { first } else { own }
}

/// The weight that a value decodes: a kernel may read it where it lies.
pub fn decoded(graph: &Graph, v: ValueId) -> Option<ValueId> {
    let node = graph.def(v);
    let source = node.input(0).filter(|x| node.op.is_decoding(graph.ty(*x).encoding))?;
    is_weight(graph, source).then_some(source)
}

/// Whether a value's bytes are there as they are stored: a param, a constant, or several joined.
fn is_weight(graph: &Graph, v: ValueId) -> bool {
    let is_leaf = |v: ValueId| matches!(graph.def(v).op, Op::Param(_) | Op::Constant(_));
    let node = graph.def(v);
    is_leaf(v) || (node.op.is_joining(&graph.ty(v).shape) && node.operands().all(is_leaf))
}
