//! Transposed convolutions with few results and many channels are cut along these, so that the whole device works on
//! them. Such is the gradient of a convolution by its operand where that has few channels and a small image.
//!
//! Each phase of one is a product whose k is channels and taps (`plan/kernels/convolution.rs`). With the channels of a
//! group cut into s equal ranges, a range is a group of its own over the same weights, and
//!   conv_transpose(x, w) == Σ_p conv_transpose(x, w) with s·groups groups, its results \[…, groups, p, outputs, …\].
//! Nothing is copied: operands are read where they lie, and a reduction adds the parts.
//!
//! Left alone: a bias; results of 16 bits (each part would be rounded); channels that symbols decide or no number
//! divides; and whatever [`CostModel`](crate::CostModel) finds fast enough as a product of each phase. The order of
//! summation changes, so values agree within the tolerance of `ConvTranspose`.

use crate::pipeline::PassCx;
use crate::rewrite::{Facts, upper};
use pumice_ir::ops::{ConvTranspose, ReduceSum, Reshape};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef};
use pumice_types::{DType, EncodingClass, ProductExtents};

/// Numbers of parts that are considered.
const PARTS: [u64; 10] = [1, 2, 4, 6, 8, 12, 16, 24, 32, 64];
/// Channels of a part at least.
const CHANNELS: u64 = 8;

/// One patch for every transposed convolution that is cut.
pub fn split_convolutions(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let split = |(id, node): (NodeId, &Node)| match &node.op {
        Op::ConvTranspose(op) if !facts.is_load_time(id) => Cut::of(graph, cx, node, op)?.patch(graph, id),
        _ => None,
    };
    graph.nodes().filter_map(split).collect()
}

/// A transposed convolution and into how many parts its channels fall.
struct Cut<'g> {
    op: &'g ConvTranspose,
    node: &'g Node,
    parts: u64,
}

impl<'g> Cut<'g> {
    /// None where one part is best.
    fn of(graph: &Graph, cx: &PassCx<'_>, node: &'g Node, op: &'g ConvTranspose) -> Option<Cut<'g>> {
        let channels = graph.ty(node.input(0)?).shape[1].as_extent()? / op.groups;
        if node.input(2).is_some() || graph.ty(node.output()).dtype() != DType::F32 {
            return None;
        }
        let fits =
            |parts: &u64| *parts == 1 || channels.is_multiple_of(*parts) && channels / parts >= CHANNELS;
        let allowed: Vec<u64> = PARTS.into_iter().filter(fits).collect();
        let extents = phases_as_product(graph, cx, node, op, channels)?;
        let parts = cx.cost_model.product_parts(&extents, &allowed, false);
        (parts > 1 && allowed.contains(&parts)).then_some(Cut { op, node, parts })
    }

    fn patch(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (name, y) = (graph.node_name(id), &graph.ty(self.node.output()).shape);
        let groups = self.op.groups.checked_mul(self.parts)?;
        let outputs = y[1].as_extent()? / self.op.groups;
        let mut patch = Patch::new(format!("cut {name} into {} parts along its channels", self.parts));
        let inputs = self.node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
        let op = ConvTranspose { groups, ..self.op.clone() };
        let products = patch.add_opt(op, format!("{name}.parts"), inputs);
        let apart = [y[0].clone(), self.op.groups.into(), self.parts.into(), outputs.into()];
        let shape = [&apart, &y[2..]].concat();
        let apart = patch.add(Reshape { shape }, format!("{name}.parts.apart"), &[products]);
        let sum = ReduceSum { axes: vec![2], keepdims: false, noop_with_empty_axes: false };
        let sum = patch.add(sum, format!("{name}.sum"), &[apart]);
        let whole = patch.add(Reshape { shape: y.to_vec() }, name, &[sum]);
        patch.replace(self.node.output(), whole);
        Some(patch)
    }
}

/// The products that the phases of a transposed convolution are, by upper bounds.
fn phases_as_product(
    graph: &Graph,
    cx: &PassCx<'_>,
    node: &Node,
    op: &ConvTranspose,
    channels: u64,
) -> Option<ProductExtents> {
    let symbols = cx.symbols(graph);
    let (w, y) = (&graph.ty(node.input(1)?).shape, &graph.ty(node.output()).shape);
    let strides = (0..y.len() - 2).map(|axis| op.strides.get(axis).copied().unwrap_or(1));
    let (mut phases, mut positions, mut taps) = (1u64, 1u64, 1u64);
    for ((n, kernel), stride) in y[2..].iter().zip(&w[2..]).zip(strides) {
        let n = n.upper(symbols).max(1);
        let along = stride.min(n);
        phases = phases.saturating_mul(along);
        positions = positions.saturating_mul(n.div_ceil(along));
        taps = taps.saturating_mul(kernel.as_extent()?.div_ceil(stride));
    }
    Some(ProductExtents {
        m: w[1].as_extent()?,
        n: positions.saturating_mul(upper(&y[..1], symbols)),
        k: channels.saturating_mul(taps),
        batches: op.groups.saturating_mul(phases),
        b_along_k: false,
        b_stored: EncodingClass::F32,
        precision: op.rounding.precision(),
    })
}
