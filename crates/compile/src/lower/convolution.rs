//! Convolutions and transposed ones, alone or with the elementwise nodes that follow them.

use super::epilogue::Epilogue as Takes;
use super::in_place::{self, Reads};
use super::{Lower, LowerResult, host};
use crate::convolution::{self, Convolution, Epilogue, Over};
use crate::cx::{LowerCx, node_meaning};
use crate::draft::Located;
use crate::fused_body::{self, FusedBody};
use crate::phases::Phases;
use crate::window::{Axis, Window};
use pumice_ir::ops::{Conv, ConvTranspose};
use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_plan::kernel::HoleFill;
use pumice_types::{DimExpr, SymbolTable, slots};
use std::sync::Arc;

/// What the kernels see of an op, by the shapes of operand, weights and result; none where its numbers are more than
/// kernels count to.
type Seen<'a> = &'a dyn Fn(&[Arc<[DimExpr]>; 3], &SymbolTable) -> Option<Convolution>;

macro_rules! convolutions {
    ($($Name:ident by $seen:ident),*) => {$(
        impl Lower for $Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                alone(cx, id, &|shapes, symbols| $seen(self, shapes, symbols))
            }

            fn epilogue(&self, graph: &Graph, node: &Node) -> Option<Takes> {
                takes(graph, node, &|shapes, symbols| $seen(self, shapes, symbols))
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, body: &Graph, anchor: &Node) -> LowerResult {
                fused(cx, id, (body, anchor), &|shapes, symbols| $seen(self, shapes, symbols))
            }
        }
    )*};
}
convolutions! { Conv by forward, ConvTranspose by transposed }

fn alone(cx: &mut LowerCx<'_>, id: NodeId, seen: Seen<'_>) -> LowerResult {
    let node = cx.graph.node(id);
    let operand = |k| node.input(k);
    let (x, w) = (operand(0).ok_or("it has no operand")?, operand(1).ok_or("it has no weights")?);
    let shapes = [x, w, node.output()].map(|v| cx.graph.ty(v).shape.clone());
    let Some(conv) = seen(&shapes, cx.graph.symbols()) else { return host::lower(cx, id) };
    let dtype = cx.graph.ty(node.output()).dtype();
    let fill = fused_body::bias_and_rounding("epilogue", operand(2).is_some(), dtype)?;
    let present = (0..3).filter(|&k| operand(k).is_some());
    let names: Vec<_> = present.map(|k| (crate::meaning::operand(k), k)).collect();
    let operands = Operands { x, w, bias: operand(2), extra: Vec::new() };
    step(cx, id, &conv, operands, (fill, &names))
}

fn takes(graph: &Graph, node: &Node, seen: Seen<'_>) -> Option<Takes> {
    let shapes = [node.input(0)?, node.input(1)?, node.output()].map(|v| graph.ty(v).shape.clone());
    seen(&shapes, graph.symbols())?;
    let slots = slots::PRODUCT - usize::from(node.input(2).is_some());
    Some(Takes { kind: "conv", slots, walks: |_, _, _| true })
}

fn fused(cx: &mut LowerCx<'_>, id: NodeId, (body, anchor): (&Graph, &Node), seen: Seen<'_>) -> LowerResult {
    let outer: Vec<ValueId> = cx.graph.node(id).operands().collect();
    let fused = FusedBody::of(body, anchor)?;
    let (x, w) = (outer[fused.operand(0)?], outer[fused.operand(1)?]);
    let bias = fused.operands.get(2).copied().flatten().map(|i| outer[i]);
    let shape = &body.ty(anchor.output()).shape;
    let shapes = [cx.graph.ty(x).shape.clone(), cx.graph.ty(w).shape.clone(), shape.clone()];
    let conv = seen(&shapes, cx.graph.symbols()).ok_or("its window is larger than kernels count")?;
    let fill = fused.fill_after_bias("epilogue", bias.is_some())?;
    let names = fused.names(2 + usize::from(bias.is_some()));
    let extra = fused.extra.iter().map(|&i| outer[i]).collect();
    step(cx, id, &conv, Operands { x, w, bias, extra }, (Some(fill), &names))
}

/// Values that a convolution reads.
struct Operands {
    x: ValueId,
    w: ValueId,
    bias: Option<ValueId>,
    /// What its epilogue reads besides.
    extra: Vec<ValueId>,
}

fn step(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    conv: &Convolution,
    operands: Operands,
    (fill, names): (Option<HoleFill>, &[(Arc<str>, usize)]),
) -> LowerResult {
    let x = cx.at(operands.x)?;
    let x = if x.view.is_words() { x } else { cx.dense(operands.x)? };
    let w = cx.stored(operands.w)?;
    let results = cx.graph.node(id).outputs.clone();
    let shape = cx.graph.ty(results[0]).shape.clone();
    let mut slots: Vec<Located> = Vec::new();
    if let Some(bias) = operands.bias {
        let at = cx.at(bias)?;
        slots.push(if at.view.is_words() { at } else { cx.dense_at(&at, "bias")? });
    }
    for v in operands.extra {
        let at = cx.at(v)?;
        slots.push(convolution::slot(cx, &at, &shape)?);
    }
    let shared: Vec<&Located> =
        [&x, &w].into_iter().chain(slots.first().filter(|_| operands.bias.is_some())).collect();
    let own = &slots[usize::from(operands.bias.is_some())..];
    let places = in_place::results(cx, id, Reads { own, shared: &shared })?;
    let reads = slots.len();
    slots.extend(places[1..].iter().cloned());
    let meaning = node_meaning(cx, id)?;
    let epilogue = Epilogue { fill, slots, operands: reads, bias: operands.bias.is_some() };
    convolution::emit(cx, conv, [&x, &w, &places[0]], epilogue, meaning, names)
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
