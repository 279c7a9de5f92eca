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
use pumice_types::{DType, DimExpr, EncodingClass, ProductExtents, SymbolTable};

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
        let shape = self.apart(y)?;
        let mut patch = Patch::new(format!("cut {name} into {} parts along its channels", self.parts));
        let inputs = self.node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
        let op = ConvTranspose { groups, ..self.op.clone() };
        let products = patch.add_opt(op, format!("{name}.parts"), inputs);
        let sum = added(&mut patch, products, shape, name);
        let whole = patch.add(Reshape { shape: y.to_vec() }, name, &[sum]);
        patch.replace(self.node.output(), whole);
        Some(patch)
    }

    /// The extents of the result with its parts as axis 2.
    fn apart(&self, y: &[DimExpr]) -> Option<Vec<DimExpr>> {
        let outputs = y[1].as_extent()? / self.op.groups;
        let apart = [y[0].clone(), self.op.groups.into(), self.parts.into(), outputs.into()];
        Some([&apart, &y[2..]].concat())
    }
}

/// The sum along axis 2 of what has these extents.
fn added(patch: &mut Patch, products: PatchRef, shape: Vec<DimExpr>, name: &str) -> PatchRef {
    let apart = patch.add(Reshape { shape }, format!("{name}.parts.apart"), &[products]);
    let sum = ReduceSum { axes: vec![2], keepdims: false, noop_with_empty_axes: false };
    patch.add(sum, format!("{name}.sum"), &[apart])
}

/// Phases, and of each positions and taps, at most.
struct Phases {
    phases: u64,
    positions: u64,
    taps: u64,
}

impl Phases {
    /// Over these spatial extents of the result, by taps along each axis.
    fn of(op: &ConvTranspose, [y, taps]: [&[DimExpr]; 2], symbols: &SymbolTable) -> Option<Phases> {
        let mut all = Phases { phases: 1, positions: 1, taps: 1 };
        for (axis, (n, taps)) in y.iter().zip(taps).enumerate() {
            let (n, stride) = (n.upper(symbols).max(1), op.strides.get(axis).copied().unwrap_or(1));
            let along = stride.min(n);
            all.phases = all.phases.saturating_mul(along);
            all.positions = all.positions.saturating_mul(n.div_ceil(along));
            all.taps = all.taps.saturating_mul(taps.as_extent()?.div_ceil(stride));
        }
        Some(all)
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
    let Phases { phases, positions, taps } = Phases::of(op, [&y[2..], &w[2..]], symbols)?;
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
