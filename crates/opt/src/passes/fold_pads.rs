//! Zeros that `pad` puts around an image become the window's own, so that nobody copies the image.
//!
//! Of `Conv` alone: x is 0 outside, and a tap there multiplies it, as one on a padded element does. Left alone: pads of
//! batch and channels, values other than 0, other modes, negative numbers, images that show a state, windows with more
//! pads than kernels take. The evaluator's values are the same to the bit; a device may have another kernel for the
//! window.

use crate::pipeline::PassCx;
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::pad::{AxisPad, PadMode};
use pumice_ir::{Graph, NodeId, Op, Patch, PatchRef, ValueId};

/// Most zeros on a side: kernels count places of an axis in 30 bits.
const MOST: u64 = 1 << 28;

/// One patch for every convolution of a padded image.
pub fn fold_pads(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, _)| folded(graph, id)).collect()
}

fn folded(graph: &Graph, id: NodeId) -> Option<Patch> {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let Op::Conv(conv) = &node.op else { return None };
    let (image, sides) = zeros_around(graph, node.input(0)?)?;
    let mut inputs: Vec<_> = node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
    inputs[0] = Some(PatchRef::Old(image));
    let mut patch = Patch::new(format!("{name} takes its pad in"));
    let spatial = graph.ty(image).rank() - 2;
    let pads = widened(&conv.pads, spatial, &sides)?;
    let y = patch.add_opt(Conv { pads, ..Conv::clone(conv) }, name, inputs);
    patch.replace(node.output(), y);
    Some(patch)
}

/// What a value is made of by zeros around spatial axes, and how many.
fn zeros_around(graph: &Graph, padded: ValueId) -> Option<(ValueId, Vec<AxisPad>)> {
    let node = graph.def(padded);
    let Op::Pad(op) = &node.op else { return None };
    let (image, value) = (node.input(0)?, node.input(1)?);
    let zero = graph.constant_data(value)?.bytes().iter().all(|&b| b == 0);
    let sides = op.sides(graph.ty(image).rank()).ok()?;
    let spatial = |s: &AxisPad| s.axis >= 2 && s.before >= 0 && s.after >= 0 || s.before == 0 && s.after == 0;
    (zero && op.mode == PadMode::Constant && sides.iter().all(spatial) && !graph.shows_state(image))
        .then_some((image, sides))
}

/// The pads of a window, all before and then all after, with those around it.
fn widened(pads: &[u64], spatial: usize, sides: &[AxisPad]) -> Option<Vec<u64>> {
    let mut pads = if pads.is_empty() { vec![0; 2 * spatial] } else { pads.to_vec() };
    for side in sides.iter().filter(|s| s.axis >= 2) {
        for (at, more) in [(side.axis - 2, side.before), (spatial + side.axis - 2, side.after)] {
            let pad = pads.get_mut(at)?;
            *pad = pad.checked_add(u64::try_from(more).ok()?).filter(|&pad| pad <= MOST)?;
        }
    }
    Some(pads)
}
