//! An op with a kernel (the anchor) and the elementwise nodes that the kernel's hole takes in: alone, or in the body of
//! a fused node.
//!
//! In: the node. Out: which values the anchor reads, which the hole reads besides, and what the hole computes. A body
//! is taken apart once, for every anchor, whether its hole follows its result or makes its first operand.

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::{meaning, rows, scalars};
use pumice_ir::{Graph, Node, NodeId, ValueId, ValueType};
use pumice_plan::kernel::{HoleFill, HoleInput};
use pumice_types::DType;
use pumice_types::scalar::{RegType, ScalarExpr};
use std::sync::Arc;

/// An anchor and its hole.
pub struct FusedBody<'b> {
    /// What the anchor reads, by its operands; none of one that it lacks.
    pub operands: Vec<Option<ValueId>>,
    /// What the hole reads besides the kernel's value: its first slots.
    pub extra: Vec<ValueId>,
    /// Of the anchor's result.
    pub ty: &'b ValueType,
    /// Inputs of the meaning by name, each with its number among the operands that are there and then `extra`.
    pub names: Vec<(Arc<str>, usize)>,
    /// What the hole computes of its value and `extra`; nothing of an anchor that stands alone.
    expr: Option<ScalarExpr>,
    /// For each result that is stored besides the anchor's own, which output of `expr` it is.
    stores: Vec<u16>,
}

impl<'b> FusedBody<'b> {
    /// An anchor that stands alone.
    pub fn alone(cx: &LowerCx<'b>, id: NodeId) -> FusedBody<'b> {
        let node = cx.graph.node(id);
        let present = (0..node.inputs.len()).filter(|&k| node.input(k).is_some());
        FusedBody {
            operands: node.inputs.to_vec(),
            extra: Vec::new(),
            ty: cx.graph.ty(node.output()),
            names: present.map(meaning::operand).zip(0..).collect(),
            expr: None,
            stores: Vec::new(),
        }
    }

    /// A body whose anchor is followed by what the hole computes of its result. `outer` are the operands of the node.
    ///
    /// # Errors
    /// An anchor that takes a value of the body, a hole that folds an operand away or reports.
    pub fn with_epilogue(outer: &[ValueId], body: &'b Graph, anchor: &Node) -> LowerResult<FusedBody<'b>> {
        let inputs = body.inputs();
        let reads = Reads {
            operands: anchor.inputs.iter().map(|v| outside(body, *v)).collect::<LowerResult<_>>()?,
            extra: read_besides(body, anchor).collect(),
        };
        let extra = reads.extra.iter().map(|&i| inputs[i]);
        let given: Vec<ValueId> = std::iter::once(anchor.output()).chain(extra).collect();
        let results: Vec<ValueId> = body.outputs().iter().map(|o| o.value).collect();
        let expr = expression(body, anchor, &given, &results)?;
        let expr = round_first(expr, body.ty(anchor.output()).dtype())?;
        Ok(reads.body(outer, body, anchor, expr, (1..results.len() as u16).collect()))
    }

    /// A body whose anchor takes as its first operand what the hole computes while that is loaded. The kernel's own
    /// operand is one that has all elements of it: one that `is_dense`, where there is one. Slots may begin anywhere,
    /// as parts of a product do.
    ///
    /// # Errors
    /// As [`FusedBody::with_epilogue`]; a hole that reads nothing that has all elements.
    pub fn with_prologue(
        outer: &[ValueId],
        body: &'b Graph,
        anchor: &Node,
        mut is_dense: impl FnMut(ValueId) -> bool,
    ) -> LowerResult<FusedBody<'b>> {
        let (inputs, made) = (body.inputs(), anchor.input(0).ok_or("its anchor has no operand")?);
        let mut extra: Vec<usize> = read_besides(body, anchor).collect();
        let mut whole = extra.iter().copied().filter(|&i| is_whole(body, inputs[i], made));
        let first = whole.clone().next();
        let own = whole.find(|&i| is_dense(outer[i])).or(first);
        let own = own.ok_or("its hole reads nothing that has the shape of what it makes")?;
        extra.retain(|&i| i != own);
        let others = anchor.inputs[1..].iter().map(|v| outside(body, *v));
        let reads = Reads {
            operands: std::iter::once(Ok(Some(own))).chain(others).collect::<LowerResult<_>>()?,
            extra,
        };
        let given: Vec<ValueId> = std::iter::once(&own).chain(&reads.extra).map(|&i| inputs[i]).collect();
        let stored = body.outputs()[1..].iter().map(|o| o.value);
        let others = stored.clone().filter(|&v| v != made);
        let results: Vec<ValueId> = std::iter::once(made).chain(others).collect();
        let expr = expression(body, anchor, &given, &results)?;
        let number = |v: ValueId| results.iter().position(|&r| r == v).map_or(0, |i| i as u16);
        Ok(reads.body(outer, body, anchor, expr, stored.map(number).collect()))
    }

    /// The value that operand `k` of the anchor is.
    pub fn operand(&self, k: usize) -> LowerResult<ValueId> {
        self.optional(k).ok_or_else(|| format!("its anchor lacks operand {k}").into())
    }

    /// The value that operand `k` of the anchor is, if it has that operand.
    pub fn optional(&self, k: usize) -> Option<ValueId> {
        self.operands.get(k).copied().flatten()
    }

    /// The fill of the hole `load`; none of an anchor that stands alone.
    pub fn prologue(&self) -> Option<HoleFill> {
        self.expr.as_ref().map(|expr| self.filled("load", expr))
    }

    /// The fill of the hole `epilogue`, which adds the first slot to the kernel's value before anything else with
    /// `bias`; none where nothing is left to do.
    ///
    /// # Errors
    /// An expression that cannot be made.
    pub fn epilogue(&self, bias: bool) -> LowerResult<Option<HoleFill>> {
        let dtype = self.ty.dtype();
        match &self.expr {
            Some(expr) if bias => Ok(Some(after_bias(self.filled("epilogue", expr), dtype)?)),
            Some(expr) => Ok(Some(self.filled("epilogue", expr))),
            None if bias => Ok(Some(bias_alone(dtype)?)),
            None => Ok(rows::rounding(dtype, "epilogue")?.pop()),
        }
    }

    /// The filled hole: its value is the kernel's, slots are what it reads and then what it stores besides.
    fn filled(&self, hole: &'static str, expr: &ScalarExpr) -> HoleFill {
        let slot = |i: usize| i.checked_sub(1).map_or(HoleInput::Value(0), |s| HoleInput::Slot(s as u8));
        let stored = (self.extra.len() as u8..).zip(self.stores.iter().copied());
        HoleFill {
            hole: hole.into(),
            inputs: (0..=self.extra.len()).map(slot).collect(),
            result: Some(0),
            stores: stored.collect(),
            expr: expr.clone(),
        }
    }
}

/// What reads the inputs of a body, each by its number.
struct Reads {
    /// The anchor, by its operands.
    operands: Vec<Option<usize>>,
    /// The hole, besides the kernel's value.
    extra: Vec<usize>,
}

impl Reads {
    fn body<'b>(
        self,
        outer: &[ValueId],
        body: &'b Graph,
        anchor: &Node,
        expr: ScalarExpr,
        stores: Vec<u16>,
    ) -> FusedBody<'b> {
        let inputs = body.inputs();
        let named = |i: usize| Some((body.value(inputs[i]).name.clone(), self.number(i)?));
        FusedBody {
            operands: self.operands.iter().map(|i| i.map(|i| outer[i])).collect(),
            extra: self.extra.iter().map(|&i| outer[i]).collect(),
            ty: body.ty(anchor.output()),
            names: (0..inputs.len()).filter_map(named).collect(),
            expr: Some(expr),
            stores,
        }
    }

    /// The number of an input among the operands that are there and then those of the hole.
    fn number(&self, input: usize) -> Option<usize> {
        self.operands.iter().flatten().chain(&self.extra).position(|&i| i == input)
    }
}

/// Which input of the body an operand of its anchor is.
fn outside(body: &Graph, v: Option<ValueId>) -> LowerResult<Option<usize>> {
    let Some(v) = v else { return Ok(None) };
    let input = body.inputs().iter().position(|&i| i == v);
    input.map(Some).ok_or_else(|| "its anchor takes a value of the body".into())
}

/// The inputs of a body that a node other than the anchor reads.
fn read_besides<'a>(body: &'a Graph, anchor: &'a Node) -> impl Iterator<Item = usize> + 'a {
    let read =
        move |v: ValueId| body.nodes().any(|(_, n)| !std::ptr::eq(n, anchor) && n.operands().any(|o| o == v));
    (0..).zip(body.inputs()).filter(move |(_, v)| read(*v)).map(|(i, _)| i)
}

/// Whether a value has floats where `made` has them.
pub fn is_whole(graph: &Graph, v: ValueId, made: ValueId) -> bool {
    graph.ty(v).shape == graph.ty(made).shape && graph.ty(v).dtype().is_float()
}

/// What the nodes around an anchor compute of these values.
fn expression(
    body: &Graph,
    anchor: &Node,
    given: &[ValueId],
    results: &[ValueId],
) -> LowerResult<ScalarExpr> {
    let is_around = |n: &&Node| !n.op.is_leaf_interface() && !std::ptr::eq(*n, anchor);
    let nodes: Vec<&Node> = body.nodes().map(|(_, n)| n).filter(is_around).collect();
    let made = scalars::body(body, &nodes, given, results)?;
    if made.inputs != given || made.raises {
        return Err("its hole folds an operand away".into());
    }
    Ok(made.expr)
}

/// The same of a first input that is rounded to the anchor's dtype before, as the unfused graph does it.
fn round_first(expr: ScalarExpr, dtype: DType) -> LowerResult<ScalarExpr> {
    if dtype == DType::F32 {
        return Ok(expr);
    }
    let types: Vec<RegType> = expr.inputs().to_vec();
    let rounded = ScalarExpr::build(&types, |b, x| {
        let mut args = x.to_vec();
        args[0] = b.narrow(x[0], dtype);
        b.compose(&expr, &args)
    });
    rounded.map_err(|e| Refusal(format!("its epilogue is wrong: {e}")))
}

/// The fill with one more slot before its own, which is added to the kernel's value; the sum is rounded.
fn after_bias(fill: HoleFill, dtype: DType) -> LowerResult<HoleFill> {
    let mut types = vec![RegType::F32];
    types.extend_from_slice(fill.expr.inputs());
    let after = ScalarExpr::build(&types, |b, x| {
        let sum = b.narrow(b.add(x[1], x[0]), dtype);
        let args: Vec<_> = std::iter::once(sum).chain(x[2..].iter().copied()).collect();
        b.compose(&fill.expr, &args)
    });
    let expr = after.map_err(|e| Refusal(format!("its epilogue is wrong: {e}")))?;
    let slot = |i: &HoleInput| match *i {
        HoleInput::Slot(s) => HoleInput::Slot(s + 1),
        other => other,
    };
    let inputs = std::iter::once(HoleInput::Slot(0)).chain(fill.inputs.iter().map(slot)).collect();
    let stores = fill.stores.iter().map(|&(s, i)| (s + 1, i)).collect();
    Ok(HoleFill { expr, inputs, stores, ..fill })
}

/// Adds the first slot and rounds.
fn bias_alone(dtype: DType) -> LowerResult<HoleFill> {
    let expr =
        ScalarExpr::build(&[RegType::F32, RegType::F32], |b, x| vec![b.narrow(b.add(x[0], x[1]), dtype)]);
    let expr = expr.map_err(|e| Refusal(format!("its bias is wrong: {e}")))?;
    let inputs = [HoleInput::Value(0), HoleInput::Slot(0)].into_iter().collect();
    Ok(HoleFill { hole: "epilogue".into(), expr, inputs, result: Some(0), stores: Default::default() })
}
