//! How much an elementwise node adds to the body of a kernel.

use super::fuse::is_literal;
use pumice_ir::ops::{Fused, Op, ScalarCx};
use pumice_ir::{Graph, NodeId, ValueId};
use pumice_types::DType;
use pumice_types::scalar::{Reg, RegType, ScalarBuilder};

/// The kind of a fused node that has elementwise nodes alone.
pub const ELEMENTWISE: &str = "elementwise";

/// Instructions of one element of the node's scalar form, or of all scalar forms in a fused node that is elementwise.
/// `None`: the node must stay alone. It has no scalar form, or it reports elements under its own name, such as an
/// integer division unless its divisor is a constant other than 0.
pub fn instructions(graph: &Graph, id: NodeId) -> Option<usize> {
    let node = graph.node(id);
    if let Op::Fused(fused) = &node.op {
        return instructions_inside(fused);
    }
    if !node.op.is_elementwise() || node.outputs.len() != 1 {
        return None;
    }
    let out = graph.ty(node.output()).dtype();
    let dtypes: Vec<DType> = node.inputs.iter().map(|v| v.map_or(out, |v| graph.ty(v).dtype())).collect();
    let types: Vec<RegType> = dtypes.iter().map(|&d| RegType::from(d)).collect();
    let b = ScalarBuilder::new(&types);
    let present = node.inputs.iter().zip(b.inputs());
    let literal = |v: ValueId| graph.constant_data(v).filter(|_| is_literal(graph, v));
    let arg =
        |(v, &reg): (&Option<ValueId>, &Reg)| v.map(|v| literal(v).and_then(|t| b.literal(t)).unwrap_or(reg));
    let args: Vec<Option<Reg>> = present.map(arg).collect();
    let cx = ScalarCx { b: &b, args: &args, dtypes: &dtypes, out };
    let reg = node.op.scalar(&cx)?;
    let wrong = [node.op.zero_divisor(&cx), node.op.mismatch(&cx)];
    if wrong.into_iter().flatten().any(|wrong| b.constant_bits(wrong) != Some(0)) {
        return None;
    }
    let reg = b.narrow(reg, out);
    b.finish(&[reg]).ok().map(|expr| expr.insts().len())
}

/// Instructions of a fused node that is elementwise.
fn instructions_inside(fused: &Fused) -> Option<usize> {
    let body = &fused.body;
    let inside = body.nodes().filter(|(_, node)| !node.op.is_leaf());
    let each = || inside.map(|(id, _)| instructions(body, id)).sum();
    (fused.kind == ELEMENTWISE).then(each).flatten()
}
