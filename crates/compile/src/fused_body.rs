//! What stands in a fused node: its anchor, which has a kernel, and the elementwise nodes that the kernel's hole takes
//! in.
//!
//! In: the body of the node. Out: which operands of the node the anchor reads, which the hole reads besides, and the
//! hole's expression. A body is taken apart once, for every anchor whose hole follows its result.

use crate::cx::{LowerResult, Refusal};
use crate::scalars;
use pumice_ir::{Graph, Node, ValueId};
use pumice_plan::kernel::{HoleFill, HoleInput};
use pumice_types::DType;
use pumice_types::scalar::{RegType, ScalarExpr};
use std::sync::Arc;

/// A body with an epilogue.
pub struct FusedBody<'b> {
    body: &'b Graph,
    /// For each operand of the anchor, which input of the body it is.
    pub operands: Vec<Option<usize>>,
    /// The inputs of the body that the epilogue reads besides the anchor's result: its slots, in order.
    pub extra: Vec<usize>,
    expr: ScalarExpr,
    results: usize,
    /// Of the anchor's result.
    dtype: DType,
}

impl<'b> FusedBody<'b> {
    /// Takes a body apart.
    ///
    /// # Errors
    /// An anchor that takes a value of the body, an epilogue that folds an operand away or reports.
    pub fn of(body: &'b Graph, anchor: &Node) -> LowerResult<FusedBody<'b>> {
        let inputs = body.inputs();
        let outside = |v: &Option<ValueId>| match v {
            None => Ok(None),
            Some(v) => match inputs.iter().position(|i| i == v) {
                Some(i) => Ok(Some(i)),
                None => Err(Refusal("its anchor takes a value of the body".into())),
            },
        };
        let operands = anchor.inputs.iter().map(outside).collect::<LowerResult<Vec<_>>>()?;
        let extra: Vec<usize> =
            (0..inputs.len()).filter(|&i| used_besides(body, anchor, inputs[i])).collect();
        let given: Vec<ValueId> =
            std::iter::once(anchor.output()).chain(extra.iter().map(|&i| inputs[i])).collect();
        let is_epilogue = |n: &&Node| !n.op.is_leaf_interface() && !std::ptr::eq(*n, anchor);
        let nodes: Vec<&Node> = body.nodes().map(|(_, n)| n).filter(is_epilogue).collect();
        let results: Vec<ValueId> = body.outputs().iter().map(|o| o.value).collect();
        let expr = round_first(body, anchor, &nodes, &given, &results)?;
        let dtype = body.ty(anchor.output()).dtype();
        Ok(FusedBody { body, operands, extra, expr, results: results.len(), dtype })
    }

    /// The input of the body that operand `k` of the anchor is.
    pub fn operand(&self, k: usize) -> LowerResult<usize> {
        self.operands.get(k).copied().flatten().ok_or_else(|| format!("its anchor lacks operand {k}").into())
    }

    /// The filled hole: its value is the anchor's result, slots are what it reads and then what it stores besides.
    pub fn fill(&self, hole: &'static str) -> HoleFill {
        let slot = |i: usize| i.checked_sub(1).map_or(HoleInput::Value(0), |s| HoleInput::Slot(s as u8));
        let stored = |i: usize| ((self.extra.len() + i - 1) as u8, i as u16);
        HoleFill {
            hole: hole.into(),
            inputs: (0..=self.extra.len()).map(slot).collect(),
            result: Some(0),
            stores: (1..self.results).map(stored).collect(),
            expr: self.expr.clone(),
        }
    }

    /// As [`FusedBody::fill`], where with `bias` the first slot is added to the kernel's value before anything else.
    ///
    /// # Errors
    /// An expression that cannot be put after a sum.
    pub fn fill_after_bias(&self, hole: &'static str, bias: bool) -> LowerResult<HoleFill> {
        let fill = self.fill(hole);
        if !bias {
            return Ok(fill);
        }
        let mut types = vec![RegType::F32];
        types.extend_from_slice(self.expr.inputs());
        let after = ScalarExpr::build(&types, |b, x| {
            let sum = b.narrow(b.add(x[1], x[0]), self.dtype);
            let args: Vec<_> = std::iter::once(sum).chain(x[2..].iter().copied()).collect();
            b.compose(&self.expr, &args)
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

    /// Inputs of the meaning by name, each with the number of the read that it is: the anchor's operands as `read`
    /// numbers them, then the slots from `slots` on.
    pub fn names(&self, slots: usize) -> Vec<(Arc<str>, usize)> {
        let inputs = self.body.inputs();
        let read = |i: usize| match self.operands.iter().position(|&o| o == Some(i)) {
            Some(k) => Some(k),
            None => self.extra.iter().position(|&e| e == i).map(|s| slots + s),
        };
        let named = |i: usize| Some((self.body.value(inputs[i]).name.clone(), read(i)?));
        (0..inputs.len()).filter_map(named).collect()
    }
}

/// The fill of an anchor that stands alone: adds the first slot, with `bias`, and rounds to the result's dtype. None
/// where nothing is left to do.
///
/// # Errors
/// An expression that cannot be made.
pub fn bias_and_rounding(hole: &'static str, bias: bool, dtype: DType) -> LowerResult<Option<HoleFill>> {
    if !bias {
        return Ok(crate::rows::rounding(dtype, hole)?.pop());
    }
    let expr =
        ScalarExpr::build(&[RegType::F32, RegType::F32], |b, x| vec![b.narrow(b.add(x[0], x[1]), dtype)]);
    let expr = expr.map_err(|e| Refusal(format!("its bias is wrong: {e}")))?;
    let inputs = [HoleInput::Value(0), HoleInput::Slot(0)].into_iter().collect();
    Ok(Some(HoleFill { hole: hole.into(), expr, inputs, result: Some(0), stores: Default::default() }))
}

/// Whether an input is used by a node other than the anchor.
fn used_besides(body: &Graph, anchor: &Node, v: ValueId) -> bool {
    body.nodes().any(|(_, n)| !std::ptr::eq(n, anchor) && n.operands().any(|o| o == v))
}

/// The epilogue's expression; the anchor's result is rounded to its own dtype first, as the unfused graph does.
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
