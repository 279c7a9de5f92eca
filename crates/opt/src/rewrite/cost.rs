//! How much an elementwise node adds to the body of a kernel.

use pumice_ir::ops::ScalarCx;
use pumice_ir::{Graph, NodeId};
use pumice_types::DType;
use pumice_types::scalar::{Reg, RegType, ScalarBuilder};

/// Instructions of one element of the node's scalar form; `None` where it has none, so that it must stay alone. So must
/// an integer division: what it reports when the divisor is zero is reported under its own name.
pub fn instructions(graph: &Graph, id: NodeId) -> Option<usize> {
    let node = graph.node(id);
    if !node.op.is_elementwise() || node.outputs.len() != 1 {
        return None;
    }
    let out = graph.ty(node.output()).dtype();
    let dtypes: Vec<DType> = node.inputs.iter().map(|v| v.map_or(out, |v| graph.ty(v).dtype())).collect();
    let types: Vec<RegType> = dtypes.iter().map(|&d| RegType::from(d)).collect();
    let b = ScalarBuilder::new(&types);
    let present = node.inputs.iter().zip(b.inputs());
    let args: Vec<Option<Reg>> = present.map(|(v, &reg)| v.map(|_| reg)).collect();
    let cx = ScalarCx { b: &b, args: &args, dtypes: &dtypes, out };
    let reg = node.op.scalar(&cx)?;
    if node.op.zero_divisor(&cx).is_some() {
        return None;
    }
    let reg = b.narrow(reg, out);
    b.finish(&[reg]).ok().map(|expr| expr.insts().len())
}
