//! Steps that the host runs: operands are copied to `io_out`, results arrive in `io_in`, both in natural width.

use super::LowerResult;
use crate::cx::{LowerCx, meaning_with_literals};
use crate::step::StepBuilder;
use crate::unplaced::StorageClass;
use crate::{elementwise, meaning};
use pumice_ir::{NodeId, ValueId};
use pumice_plan::{Access, StepKind, Storage};

/// Lowers a node to a host step.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    let graph = cx.graph;
    let node = graph.node(id);
    let mut step = StepBuilder::new();
    let in_memory = |v: &ValueId| graph.constant_data(*v).is_none_or(|t| !meaning::is_literal(t));
    let operands = node.inputs.iter().enumerate().filter_map(|(k, v)| Some((k, (*v)?)));
    for (k, v) in operands.filter(|(_, v)| in_memory(v)) {
        let from = cx.at(v)?;
        let to =
            cx.alloc(graph.value(v).name.clone(), StorageClass::HostOperand, Storage::Natural, graph.ty(v))?;
        elementwise::copy(cx, &from, &to, "a host step reads what the host sees")?;
        let i = step.touch(&to, Access::HostRead);
        step.input(meaning::operand(k), &i);
    }
    for &v in &node.outputs {
        let to =
            cx.alloc(graph.value(v).name.clone(), StorageClass::HostResult, Storage::Natural, graph.ty(v))?;
        step.write_host(&to);
        cx.place(v, to);
    }
    let meaning = meaning_with_literals(cx, id)?;
    step.finish(cx, StepKind::Host, meaning)
}
