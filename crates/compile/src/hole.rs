//! A hole of a kernel as one step fills it: what is computed there, and the slots that it reads and stores to.

use crate::cx::{LowerCx, LowerResult, Refusal, node_meaning};
use crate::fused_body::FusedBody;
use crate::meaning::{self, StepMeaning};
use crate::unplaced::PlacedView;
use pumice_ir::{GraphBuilder, NodeId, Value, ValueType};
use pumice_plan::kernel::HoleFill;
use std::sync::Arc;

/// What happens in a hole, with its slots as they lie.
#[derive(Default)]
pub struct Filled {
    /// The fill; none is the identity.
    pub fill: Option<HoleFill>,
    /// Operands, then results that are stored besides the kernel's own.
    pub slots: Vec<PlacedView>,
    /// How many of the slots are operands.
    pub operands: usize,
}

impl Filled {
    /// A fill that reads these slots and stores those.
    pub fn new(fill: Option<HoleFill>, mut reads: Vec<PlacedView>, stores: &[PlacedView]) -> Filled {
        let operands = reads.len();
        reads.extend_from_slice(stores);
        Filled { fill, slots: reads, operands }
    }
}

/// What a step computes, and the inputs of that by name, each with its number among the kernel's operands and then
/// those of its hole.
pub struct Meant {
    /// What it computes.
    pub meaning: StepMeaning,
    /// The inputs.
    pub inputs: Vec<(Arc<str>, usize)>,
}

impl Meant {
    /// What a node's step computes that shows copies in place of some of these inputs: by their numbers, the types of
    /// the copies.
    pub fn of_copies(
        cx: &mut LowerCx<'_>,
        id: NodeId,
        inputs: &[(Arc<str>, usize)],
        copied: &[(usize, ValueType)],
    ) -> LowerResult<Meant> {
        if copied.is_empty() {
            return Ok(Meant { meaning: node_meaning(cx, id)?, inputs: inputs.to_vec() });
        }
        let copy = |i: usize| copied.iter().find(|c| c.0 == i).map(|c| c.1.clone());
        let types = inputs.iter().filter_map(|(name, i)| Some((Arc::clone(name), copy(*i)?)));
        let types: Vec<(Arc<str>, ValueType)> = types.collect();
        let meaning = meaning::of_node_taking(cx.graph, cx.graph.node(id), &types);
        let meaning = meaning.map_err(|e| Refusal(format!("its meaning is not a graph: {e}")))?;
        Ok(Meant { meaning, inputs: inputs.to_vec() })
    }

    /// As [`Meant::of_copies`], of a product whose right operand, input 1, is seen as it is stored: as codes, beside
    /// which scales stand.
    pub fn over_codes(
        cx: &mut LowerCx<'_>,
        id: NodeId,
        inputs: &[(Arc<str>, usize)],
        copied: &[(usize, ValueType)],
        codes: &PlacedView,
    ) -> LowerResult<Meant> {
        let Some(scales) = cx.scales_of(codes) else { return Meant::of_copies(cx, id, inputs, copied) };
        let number = |name: &str| inputs.iter().find(|(n, _)| **n == *name).map(|(_, i)| *i);
        let copy = |i: usize| copied.iter().find(|c| c.0 == i).map(|c| c.1.clone());
        let value = |g: &GraphBuilder, name: &str, own: &ValueType| -> Value {
            match number(name) {
                Some(1) => scales.meant(g, name, &codes.view),
                Some(i) => g.input(name, copy(i).unwrap_or_else(|| own.clone())),
                None => g.input(name, own.clone()),
            }
        };
        Ok(Meant { meaning: meaning_over(cx, id, &value)?, inputs: inputs.to_vec() })
    }

    /// As [`Meant::of_copies`], of a step whose hole reads `extra`, shown by the last of these slots; the first slot is
    /// input `first`.
    pub fn over_slots(
        cx: &mut LowerCx<'_>,
        id: NodeId,
        fused: &FusedBody<'_>,
        (first, slots): (usize, &[PlacedView]),
    ) -> LowerResult<Meant> {
        let own = slots.len() - fused.extra.len();
        let shown = (first + own..).zip(fused.extra.iter().zip(&slots[own..]));
        let copied = shown.filter(|(_, (v, at))| at.view.shape != *cx.graph.ty(**v).shape);
        let copied = copied.map(|(i, (_, at))| (i, ValueType::new(at.view.dtype, at.view.shape.clone())));
        let copied: Vec<(usize, ValueType)> = copied.collect();
        Meant::of_copies(cx, id, &fused.names, &copied)
    }
}

/// What a node's step computes of values that this makes of an input's name and own type.
///
/// # Errors
/// A meaning that is no graph.
pub fn meaning_over(
    cx: &LowerCx<'_>,
    id: NodeId,
    value: &dyn Fn(&GraphBuilder, &str, &ValueType) -> Value,
) -> LowerResult<StepMeaning> {
    let meaning = meaning::of_node_over(cx.graph, cx.graph.node(id), value);
    meaning.map_err(|e| Refusal(format!("its meaning is not a graph: {e}")))
}
