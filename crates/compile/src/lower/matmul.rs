//! Matrix products, alone or with the elementwise nodes that follow them.

use super::in_place::{self, Reads};
use super::{Lower, LowerResult};
use crate::cx::{LowerCx, Refusal, float_storage, node_meaning, restride};
use crate::draft::{Home, Located};
use crate::meaning::{self, StepMeaning};
use crate::product::{self, Epilogue, Matrices, ProductSpace, SlotView};
use crate::{blocks, elementwise, scalars};
use pumice_ir::ops::MatMul;
use pumice_ir::{Graph, Node, NodeId, ValueId, ValueType};
use pumice_plan::kernel::{FloatStorage, HoleFill, HoleInput};
use pumice_plan::{Storage, View, dense_strides};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, DimExpr};
use std::sync::Arc;

impl Lower for MatMul {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let graph = cx.graph;
        let node = graph.node(id);
        let (a, b) = (node.input(0).ok_or("it has no `a`")?, node.input(1).ok_or("it has no `b`")?);
        let dtype = graph.ty(node.output()).dtype();
        let fill = crate::rows::rounding(dtype, "epilogue")?.pop();
        let epilogue = Tail { fill, ..Tail::default() };
        let meaning = node_meaning(cx, id)?;
        let (a, b) = (cx.at(a)?, cx.stored(b)?);
        let y = &in_place::results(cx, id, Reads { own: &[], shared: &[&a, &b] })?[0];
        let shape = graph.ty(node.output()).shape.clone();
        let names = [0, 1].map(|k| (meaning::operand(k), k));
        multiply(cx, self, (&a, &b, y), &shape, epilogue, meaning, &names)
    }

    fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, body: &Graph, anchor: &Node) -> LowerResult {
        lower_body(cx, id, self, body, anchor)
    }
}

/// What follows the product, before its slots are placed over the product's axes.
#[derive(Default)]
struct Tail {
    fill: Option<HoleFill>,
    slots: Vec<Located>,
    operands: usize,
}

/// Adds the steps of `y = epilogue(a · b)`; `shape` is the product's type in the graph.
fn multiply(
    cx: &mut LowerCx<'_>,
    op: &MatMul,
    (a, b, y): (&Located, &Located, &Located),
    shape: &[DimExpr],
    tail: Tail,
    meaning: StepMeaning,
    meaning_inputs: &[(Arc<str>, usize)],
) -> LowerResult {
    let vector_a = a.view.shape.len() == 1;
    let vector_b = b.view.shape.len() == 1;
    // Steps show their operands as the graph has them; the kernel walks them as matrices.
    let shown_a = operand(cx, a, "a")?;
    let shown_b = typed_operand(cx, b, op.trans_b)?;
    let a = if vector_a { insert_axis(&shown_a, 0) } else { swapped(&shown_a, op.trans_a) };
    let b = if vector_b { insert_axis(&shown_b, 1) } else { swapped(&shown_b, op.trans_b) };
    // The result with the axes that promotion added.
    let mut full = shape.to_vec();
    if vector_a {
        full.insert(full.len() - usize::from(!vector_b), DimExpr::constant(1));
    }
    if vector_b {
        full.push(DimExpr::constant(1));
    }
    let y_full = restride(y, full.clone(), dense_strides(&full), y.view.offset.clone());
    if tail.slots.iter().any(|s| s.view.shape.len() > full.len())
        || (full.len() > shape.len() && !tail.slots.is_empty())
    {
        return Err("a product of rank 1 takes no epilogue".into());
    }
    let slots: Vec<&View> = tail.slots.iter().map(|s| &*s.view).collect();
    let (a, b, (space, over)) = match space(&full, &a.view, &b.view, &y_full.view, &slots) {
        Some(space) => (shown_a, shown_b, space),
        None => {
            // Batches that do not collapse to two axes: the operands are broadcast in memory.
            let (a, b) = (broadcast(cx, &a, &full)?, broadcast(cx, &b, &full)?);
            let space = space(&full, &a.view, &b.view, &y_full.view, &slots);
            let shown = (unbroadcast(&a, &shown_a, op.trans_a), unbroadcast(&b, &shown_b, op.trans_b));
            (shown.0, shown.1, space.ok_or("batches of its epilogue do not collapse to two axes")?)
        }
    };
    let slots = tail.slots.into_iter().zip(over).map(|(at, over)| SlotView { at, over }).collect();
    let epilogue = Epilogue { fill: tail.fill, slots, operands: tail.operands };
    product::emit(cx, &space, [&a, &b, y], epilogue, meaning, meaning_inputs)
}

/// The product's axes over its operands, its result and the slots of its epilogue; all share one collapse.
fn space(
    full: &[DimExpr],
    a: &View,
    b: &View,
    y: &View,
    slots: &[&View],
) -> Option<(ProductSpace, Vec<Matrices>)> {
    let rank = full.len();
    let mut views = vec![a, b, y];
    views.extend(slots);
    let (batch, mut m) = product::collapse_batch(full, &views)?;
    let slots = m.split_off(3);
    let (y, b_m, a_m) = (m.pop()?, m.pop()?, m.pop()?);
    // Matrix strides are the operands' own: broadcasting concerns batch axes alone.
    let own = |v: &View, m: Matrices| {
        let r = v.shape.len();
        Matrices { row: v.strides[r - 2].clone(), col: v.strides[r - 1].clone(), ..m }
    };
    let k = a.shape.last()?.clone();
    let (m, n) = (full[rank - 2].clone(), full[rank - 1].clone());
    Some((ProductSpace { batch, m, n, k, a: own(a, a_m), b: own(b, b_m), y }, slots))
}

/// The left operand or one of the epilogue as words, with any strides along which the kernel can read.
fn operand(cx: &mut LowerCx<'_>, at: &Located, name: &str) -> LowerResult<Located> {
    if at.view.is_words() { Ok(at.clone()) } else { cx.dense_at(at, name) }
}

/// The right operand as it is stored; 16-bit floats are read as such, and blocks where they lie along k.
fn typed_operand(cx: &mut LowerCx<'_>, at: &Located, k_last: bool) -> LowerResult<Located> {
    let strides = &at.view.strides;
    let k = if k_last || strides.len() < 2 { strides.len() - 1 } else { strides.len() - 2 };
    match float_storage(&at.view) {
        FloatStorage::F32 => Ok(at.clone()),
        FloatStorage::Blocks(_) if strides[k].is(1) && blocks::is_readable(cx, &at.view) => Ok(at.clone()),
        FloatStorage::Blocks(_) => cx.decoded(at),
        // Groups of four 16-bit elements must lie on 8 bytes; an offset could break that.
        _ if at.view.offset.is(0) => Ok(at.clone()),
        _ => cx.dense_at(at, "b"),
    }
}

fn insert_axis(at: &Located, axis: usize) -> Located {
    let (mut shape, mut strides) = (at.view.shape.clone(), at.view.strides.clone());
    shape.insert(axis, DimExpr::constant(1));
    strides.insert(axis, DimExpr::constant(0));
    restride(at, shape, strides, at.view.offset.clone())
}

fn swapped(at: &Located, swap: bool) -> Located {
    let (mut shape, mut strides) = (at.view.shape.clone(), at.view.strides.clone());
    let r = shape.len();
    if swap {
        shape.swap(r - 2, r - 1);
        strides.swap(r - 2, r - 1);
    }
    restride(at, shape, strides, at.view.offset.clone())
}

/// A broadcast copy seen as the operand it was made from: index 0 of every stretched axis, axes as they were.
fn unbroadcast(copy: &Located, original: &Located, swap: bool) -> Located {
    let wide = swapped(copy, swap);
    let missing = wide.view.shape.len() - original.view.shape.len();
    let strides = wide.view.strides[missing..].to_vec();
    restride(&wide, original.view.shape.clone(), strides, wide.view.offset.clone())
}

/// A dense copy with the batch axes of the result.
fn broadcast(cx: &mut LowerCx<'_>, at: &Located, full: &[DimExpr]) -> LowerResult<Located> {
    let at = &cx.decoded(at)?;
    let (r, rank) = (at.view.shape.len(), full.len());
    let mut shape = full[..rank - 2].to_vec();
    shape.extend_from_slice(&at.view.shape[r - 2..]);
    let ty = ValueType::new(at.view.dtype, shape);
    let to = cx.alloc("broadcast", Home::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(cx, at, &to, "a product walks two batch axes, and these are more")?;
    Ok(to)
}

/// Lowers a fused node whose body is one product followed by elementwise nodes over the product's shape.
fn lower_body(cx: &mut LowerCx<'_>, id: NodeId, op: &MatMul, body: &Graph, anchor: &Node) -> LowerResult {
    let node = cx.graph.node(id);
    let outer: Vec<ValueId> = node.operands().collect();
    let inputs = body.inputs();
    let outside = |v: Option<ValueId>| {
        let v = v.ok_or("its product lacks an operand")?;
        let i = inputs.iter().position(|&x| x == v).ok_or("its product takes a value of the body")?;
        Ok::<usize, Refusal>(i)
    };
    let (ai, bi) = (outside(anchor.input(0))?, outside(anchor.input(1))?);
    let shape = body.ty(anchor.output()).shape.clone();
    let extra: Vec<usize> = (0..inputs.len()).filter(|&i| used_besides(body, anchor, inputs[i])).collect();
    let given: Vec<ValueId> =
        std::iter::once(anchor.output()).chain(extra.iter().map(|&i| inputs[i])).collect();
    let nodes: Vec<&Node> = body
        .nodes()
        .map(|(_, n)| n)
        .filter(|n| !n.op.is_leaf_interface() && !std::ptr::eq(*n, anchor))
        .collect();
    let results: Vec<ValueId> = body.outputs().iter().map(|o| o.value).collect();
    let rounded = round_first(body, anchor, &nodes, &given, &results)?;
    let (a, b) = (cx.at(outer[ai])?, cx.stored(outer[bi])?);
    let mut slots = Vec::new();
    for &i in &extra {
        let at = cx.at(outer[i])?;
        slots.push(operand(cx, &at, "epilogue")?);
    }
    let outputs = in_place::results(cx, id, Reads { own: &slots, shared: &[&a, &b] })?;
    let operands = slots.len();
    slots.extend(outputs[1..].iter().cloned());
    let fill = HoleFill {
        hole: "epilogue".into(),
        inputs: (0..given.len())
            .map(|i| i.checked_sub(1).map_or(HoleInput::Value(0), |s| HoleInput::Slot(s as u8)))
            .collect(),
        result: Some(0),
        stores: (1..results.len()).map(|i| ((operands + i - 1) as u8, i as u16)).collect(),
        expr: rounded,
    };
    // a, b and the slots are this step's reads, in that order.
    let read = |i: usize| match extra.iter().position(|&e| e == i) {
        _ if i == ai => Some(0),
        _ if i == bi => Some(1),
        slot => Some(2 + slot?),
    };
    let named = |i: usize| Some((body.value(inputs[i]).name.clone(), read(i)?));
    let meaning_inputs: Vec<(Arc<str>, usize)> = (0..inputs.len()).filter_map(named).collect();
    let tail = Tail { fill: Some(fill), slots, operands };
    let meaning = node_meaning(cx, id)?;
    multiply(cx, op, (&a, &b, &outputs[0]), &shape, tail, meaning, &meaning_inputs)
}

/// Whether an input is used by a node other than the anchor.
fn used_besides(body: &Graph, anchor: &Node, v: ValueId) -> bool {
    body.nodes().any(|(_, n)| !std::ptr::eq(n, anchor) && n.operands().any(|o| o == v))
}

/// The epilogue's expression; the product is rounded to its own dtype first, as the unfused graph does.
fn round_first(
    body: &Graph,
    anchor: &Node,
    nodes: &[&Node],
    given: &[ValueId],
    results: &[ValueId],
) -> LowerResult<ScalarExpr> {
    let made = scalars::body(body, nodes, given, results)?;
    if made.inputs != given || made.raises {
        return Err("its epilogue folds an operand away".into());
    }
    let dtype = body.ty(anchor.output()).dtype();
    if dtype == DType::F32 {
        return Ok(made.expr);
    }
    let types: Vec<RegType> = made.expr.inputs().to_vec();
    ScalarExpr::build(&types, |b, x| {
        let mut args = x.to_vec();
        args[0] = b.narrow(x[0], dtype);
        b.compose(&made.expr, &args)
    })
    .map_err(|e| Refusal(format!("its epilogue is wrong: {e}")))
}
