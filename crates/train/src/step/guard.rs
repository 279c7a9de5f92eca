//! What is not finite changes nothing: by choosing, not by multiplying, so that it has no influence at all.

use crate::names::LOSS;
use crate::trained::outputs;
use pumice_ir::builder::scalar_tensor;
use pumice_ir::ops::{Abs, And, Cast, Constant, LessOrEqual, StateRead, StateWrite, Where};
use pumice_ir::{Graph, GraphBuilder, Node, Patch, PatchError, PatchRef, Value, ValueId};
use pumice_types::DType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether an f32 is a number: |x| is at most the largest one, which NaN is not.
pub(super) fn finite(g: &GraphBuilder, x: Value) -> Value {
    g.less_or_equal(g.abs(x), g.constant_scalar(DType::F32, f64::from(f32::MAX)))
}

/// The graph in which states take what is written only where the loss is finite (DESIGN 11.5), and of that only
/// elements that are finite themselves: the statistics of a batch without rows are NaN, and so they would stay.
pub(super) fn statistics(graph: &Graph) -> Result<Graph, PatchError> {
    let writes: Vec<&Node> =
        graph.nodes().map(|(_, node)| node).filter(|node| node.op.whole_state().is_some()).collect();
    let Some(&loss) = outputs(graph, &[LOSS]).first().filter(|_| !writes.is_empty()) else {
        return Ok(graph.clone());
    };
    let mut patch = Patch::new("running statistics move where the loss and they are finite");
    let finite_loss = finite_float(&mut patch, "loss", (graph, loss));
    // A state may be written again: each write follows on the guarded one before.
    let mut guarded: BTreeMap<ValueId, PatchRef> = BTreeMap::new();
    for node in writes {
        let operand = |place: Option<usize>| place.and_then(|i| node.input(i));
        let (Some(state), Some(new)) = (operand(node.op.state_operand()), operand(node.op.whole_state()))
        else {
            continue;
        };
        let name = &graph.value(node.output()).name;
        let state = guarded.get(&state).copied().unwrap_or(PatchRef::Old(state));
        let moves = if graph.ty(new).dtype().is_float() {
            let finite = finite_float(&mut patch, name, (graph, new));
            patch.add(And {}, format!("{name}.moves"), &[finite_loss, finite])
        } else {
            finite_loss
        };
        let old = patch.add(StateRead {}, format!("{name}.before"), &[state]);
        let next = patch.add(Where {}, format!("{name}.next"), &[moves, PatchRef::Old(new), old]);
        let written = patch.add(StateWrite {}, format!("{name}.guarded"), &[state, next]);
        guarded.insert(node.output(), written);
        patch.replace(node.output(), written);
    }
    graph.apply(&[patch])
}

/// Whether elements of a float are finite, as [`finite`]; `name` is that of the new nodes.
fn finite_float(patch: &mut Patch, name: &str, (graph, float): (&Graph, ValueId)) -> PatchRef {
    let mut value = PatchRef::Old(float);
    if graph.ty(float).dtype() != DType::F32 {
        value = patch.add(Cast { to: DType::F32 }, format!("{name}.wide"), &[value]);
    }
    let size = patch.add(Abs {}, format!("{name}.size"), &[value]);
    let most = Constant { data: Arc::new(scalar_tensor(DType::F32, f64::from(f32::MAX))) };
    let most = patch.add(most, format!("{name}.most"), &[]);
    patch.add(LessOrEqual {}, format!("{name}.finite"), &[size, most])
}
