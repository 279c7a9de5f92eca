//! Convolutions and transposed ones, alone or with the elementwise nodes that follow them.

use super::anchor::Hole;
use super::in_place::{self, Reads};
use super::{Lower, LowerResult, host};
use crate::convolution::{self, Convolution, Epilogue, Over};
use crate::cx::LowerCx;
use crate::fused_body::FusedBody;
use crate::hole::{Filled, Meant};
use crate::phases::Phases;
use crate::unplaced::PlacedView;
use crate::window::{Axis, Window};
use pumice_ir::ops::{Conv, ConvTranspose};
use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_types::{DimExpr, SymbolTable, slots};
use std::sync::Arc;

/// What the kernels see of an op, by the shapes of operand, weights and result; none where its numbers are more than
/// kernels count to.
type Described<'a> = &'a dyn Fn(&[Arc<[DimExpr]>; 3], &SymbolTable) -> Option<Convolution>;

macro_rules! convolutions {
    ($($Name:ident by $described:ident),*) => {$(
        impl Lower for $Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                self.lower_fused(cx, id, &FusedBody::alone(cx, id))
            }

            fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
                hole(graph, node, &|shapes, symbols| $described(self, shapes, symbols))
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
                lower(cx, id, fused, &|shapes, symbols| $described(self, shapes, symbols))
            }
        }
    )*};
}
convolutions! { Conv by forward, ConvTranspose by transposed }

fn hole(graph: &Graph, node: &Node, described: Described<'_>) -> Option<Hole> {
    let shapes = [node.input(0)?, node.input(1)?, node.output()].map(|v| graph.ty(v).shape.clone());
    described(&shapes, graph.symbols())?;
    let slots = slots::PRODUCT - usize::from(node.input(2).is_some());
    Some(Hole::after("conv", slots, |_, _, _| true))
}

/// A convolution, by the host where its window is larger than kernels count.
fn lower(cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>, described: Described<'_>) -> LowerResult {
    let (x, w, bias) = (fused.operand(0)?, fused.operand(1)?, fused.optional(2));
    let shapes = [&cx.graph.ty(x).shape, &cx.graph.ty(w).shape, &fused.ty.shape].map(Arc::clone);
    let Some(conv) = described(&shapes, cx.graph.symbols()) else { return host::lower(cx, id) };
    let x = cx.words(x)?;
    let w = cx.stored(w)?;
    let slots = slots_of(cx, bias, fused)?;
    let (of_bias, own) = slots.split_at(usize::from(bias.is_some()));
    let shared: Vec<&PlacedView> = [&x, &w].into_iter().chain(of_bias).collect();
    let places = in_place::results(cx, id, Reads { own, shared: &shared })?;
    let meant = Meant::over_slots(cx, id, fused, (2, &slots))?;
    let hole = Filled::new(fused.epilogue(bias.is_some())?, slots, &places[1..]);
    let epilogue = Epilogue { hole, bias: bias.is_some() };
    convolution::emit(cx, &conv, [&x, &w, &places[0]], epilogue, meant)
}

/// The bias, then what the epilogue reads.
fn slots_of(
    cx: &mut LowerCx<'_>,
    bias: Option<ValueId>,
    fused: &FusedBody<'_>,
) -> LowerResult<Vec<PlacedView>> {
    let mut slots = Vec::new();
    if let Some(bias) = bias {
        let at = cx.at(bias)?;
        slots.push(cx.words_at(&at, "bias")?);
    }
    for &v in &fused.extra {
        let at = cx.at(v)?;
        slots.push(convolution::slot(cx, &at, &fused.ty.shape)?);
    }
    Ok(slots)
}

fn kernel_of(w: &[DimExpr]) -> Option<Vec<u64>> {
    w[2..].iter().map(DimExpr::as_extent).collect()
}

fn forward(op: &Conv, [x, w, y]: &[Arc<[DimExpr]>; 3], _: &SymbolTable) -> Option<Convolution> {
    let windows = op.windows(&kernel_of(w)?).ok()?;
    let axes = windows.iter().zip(x[2..].iter().zip(&y[2..]));
    let axes =
        axes.map(|(window, (extent, out))| Axis::of(window, extent, out)).collect::<Option<Vec<_>>>()?;
    Some(Convolution {
        batches: x[0].clone(),
        groups: op.groups,
        channels: w[1].clone(),
        outputs: w[0].exact_quotient(&DimExpr::from(op.groups))?,
        over: Over::Window(Window::new(axes)?),
        rounding: op.rounding,
    })
}

fn transposed(
    op: &ConvTranspose,
    [x, w, y]: &[Arc<[DimExpr]>; 3],
    symbols: &SymbolTable,
) -> Option<Convolution> {
    let spreads = op.axes(&kernel_of(w)?, &x[2..]).ok()?;
    Some(Convolution {
        batches: x[0].clone(),
        groups: op.groups,
        channels: w[0].exact_quotient(&DimExpr::from(op.groups))?,
        outputs: w[1].clone(),
        over: Over::Phases(Phases::new(&spreads, [&x[2..], &y[2..]], symbols)?),
        rounding: op.rounding,
    })
}
