//! Elementwise nodes, alone or as the body of a fused node.

use super::LowerResult;
use super::in_place::Reads;
use crate::cx::{LowerCx, meaning_with_literals};
use crate::elementwise::{Elementwise, elementwise};
use crate::meaning::operand;
use crate::scalars::{self, Body};
use crate::unplaced::PlacedView;
use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_plan::FrameSlot;
use pumice_types::{DType, DimExpr};
use std::sync::Arc;

/// Lowers one elementwise node.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    if super::decode::place(cx, id)? {
        return Ok(());
    }
    let graph = cx.graph;
    let node = graph.node(id);
    if let Some(expr) = frame_expression(cx, node) {
        let slot = expr.as_symbol().map_or_else(|| FrameSlot::Expr(expr.clone()), FrameSlot::Bound);
        cx.place_in_frame(node.output(), slot, Some(expr));
        return Ok(());
    }
    let mut given: Vec<ValueId> = Vec::new();
    node.operands().for_each(|v| {
        if !given.contains(&v) {
            given.push(v);
        }
    });
    let body = cx.bodies.of_node(graph, node, &given)?;
    let inputs = body.inputs.iter().map(|&v| cx.at(v)).collect::<LowerResult<Vec<PlacedView>>>()?;
    // Every operand that is not folded in, repeats included.
    let at = |v: &Option<ValueId>| v.and_then(|v| body.inputs.iter().position(|&i| i == v));
    let operands = node.inputs.iter().enumerate();
    let meaning_inputs: Vec<_> = operands.filter_map(|(k, v)| Some((operand(k), at(v)?))).collect();
    step(cx, id, body, &inputs, &meaning_inputs)
}

/// Lowers a fused node whose body is elementwise throughout.
pub fn lower_body(cx: &mut LowerCx<'_>, id: NodeId, body_graph: &Graph) -> LowerResult {
    let node = cx.graph.node(id);
    let nodes: Vec<&Node> =
        body_graph.nodes().map(|(_, n)| n).filter(|n| !n.op.is_leaf_interface()).collect();
    let given = body_graph.inputs();
    let results: Vec<ValueId> = body_graph.outputs().iter().map(|o| o.value).collect();
    let body = scalars::body(body_graph, &nodes, &given, &results)?;
    let outer: Vec<ValueId> = node.operands().collect();
    let inputs = outer.iter().map(|&v| cx.at(v)).collect::<LowerResult<Vec<PlacedView>>>()?;
    let names = given.iter().map(|&v| body_graph.value(v).name.clone());
    let meaning_inputs: Vec<(Arc<str>, usize)> = names.zip(0..).collect();
    step(cx, id, body, &inputs, &meaning_inputs)
}

/// One step for a node with that body, by the host where it computes with 64-bit integers and the target has none.
fn step(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    body: Body,
    inputs: &[PlacedView],
    meaning_inputs: &[(Arc<str>, usize)],
) -> LowerResult {
    let graph = cx.graph;
    let node = graph.node(id);
    let shape = &graph.ty(node.output()).shape;
    if body.expr.computes_int64() && !cx.target.features.int64 && !shape.iter().any(|d| d.is(0)) {
        if body.raises {
            return Err(
                "it divides 64-bit integers, which this target leaves to the host, and host steps cannot \
                        report a division by zero"
                    .into(),
            );
        }
        return super::host::lower(cx, id);
    }
    let outputs = super::in_place::results(cx, id, Reads { own: inputs, shared: &[] })?;
    let meaning = meaning_with_literals(cx, id)?;
    let Body { expr, raises, .. } = body;
    elementwise(cx, Elementwise { shape, expr, inputs, outputs: &outputs, meaning_inputs, meaning, raises })
}

/// A rank-0 i32 sum, difference, product or extremum of extents, integer scalars and constants: it costs no step, the
/// frame holds it.
fn frame_expression(cx: &LowerCx<'_>, node: &Node) -> Option<DimExpr> {
    let ty = cx.graph.ty(node.output());
    if ty.dtype() != DType::I32 || ty.rank() != 0 {
        return None;
    }
    let operands: Option<Vec<DimExpr>> = node.operands().map(|v| cx.scalar_value(v)).collect();
    let all_constant = node.operands().all(|v| cx.graph.constant_data(v).is_some());
    if all_constant {
        return None;
    }
    let value = node.op.frame_value(&operands?)?;
    // The frame computes in 64 bits: what may wrap in 32 is a step, in which it does.
    fits_i32(cx, &value).then_some(value)
}

/// Whether every value of an expression is an i32, whatever symbols and scalars are.
fn fits_i32(cx: &LowerCx<'_>, value: &DimExpr) -> bool {
    let range = crate::frame::scalar_ranges(cx.graph);
    let (least, most) = value.bounds_with(cx.graph.symbols(), &range);
    least >= i64::from(i32::MIN) && most <= i64::from(i32::MAX)
}
