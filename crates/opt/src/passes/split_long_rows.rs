//! Softmaxes (`Softmax`, `LogSoftmax`), norms (`LayerNorm`, `RmsNorm`) and gradients of norms (`NormGrad`) over rows
//! that no kernel takes in one step, or not as fast, become reductions and elementwise nodes.
//!
//! A kernel that makes a row needs every element of it two or three times, and a driver may end its loops before they
//! are over; and a few long rows keep a few compute units busy. A reduction can be cut into parts
//! (`split_reductions`), so
//!   softmax(x) == e / Σ e, log-softmax(x) == d − ln Σ e, with d = x − max x, e = e^d;
//!   layer norm(x) == e / √(mean e² + ε) · γ + β, with d = x − mean x, e = d − mean d (the second mean is the rounding
//!   of the first, so that nothing cancels);
//!   RMS norm(x) == x / √(mean x² + ε) · (o + γ) + β;
//!   a norm's gradient is what its op says that it is made of.
//! All of it in f32, rounded to the op's dtype once, at the end. No leaf is added.
//!
//! Left alone: every row that a kernel takes as fast ([`CostModel`](crate::CostModel)), which are most.

use super::split_reductions::cuts_rows;
use crate::pipeline::PassCx;
use crate::rewrite::upper;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{
    Add, Affine, Cast, Div, Exp, LayerNorm, Log, Mul, ReduceMax, ReduceMean, ReduceSum, RmsNorm, Rsqrt,
    Square, Sub,
};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr, RowExtents, RowKind};

/// One patch for every node with rows that are too long.
pub fn split_long_rows(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, node)| Rows::of(graph, cx, id, node)?.patch()).collect()
}

/// A node over long rows.
struct Rows<'g> {
    graph: &'g Graph,
    id: NodeId,
    node: &'g Node,
    x: ValueId,
    /// The axes of a row.
    axes: Vec<i64>,
}

impl<'g> Rows<'g> {
    fn of(graph: &'g Graph, cx: &PassCx<'_>, id: NodeId, node: &'g Node) -> Option<Rows<'g>> {
        let x = node.input(0)?;
        let shape = &graph.ty(x).shape;
        let (kind, axis, to_the_end) = match &node.op {
            Op::Softmax(op) => (RowKind::Softmax, op.axis, false),
            Op::LogSoftmax(op) => (RowKind::Softmax, op.axis, false),
            Op::LayerNorm(op) => (RowKind::LayerNorm, op.axis, true),
            Op::RmsNorm(op) => (RowKind::RmsNorm, op.axis, true),
            Op::NormGrad(op) => (RowKind::NormGrad, op.axis, true),
            _ => return None,
        };
        let first = normalize_axis(axis, shape.len()).ok()?;
        let end = if to_the_end { shape.len() } else { first + 1 };
        let symbols = cx.symbols(graph);
        let upper = |dims: &[DimExpr]| upper(dims, symbols);
        let after = &shape[end..];
        let inner = if after.iter().all(|d| d.is(1)) { 1 } else { upper(after).max(2) };
        let row = RowExtents { kind, rows: upper(&shape[..first]), n: upper(&shape[first..end]), inner };
        let axes = (first..end).map(|a| a as i64).collect();
        // What is not cut would be the same few groups, three times.
        let is_cut = || shape[first].as_extent().is_some_and(|n| cuts_rows(cx, row.rows, n));
        let apart = !cx.cost_model.row_in_one(&row) || (cx.cost_model.rows_apart(&row) && is_cut());
        apart.then_some(Rows { graph, id, node, x, axes })
    }

    fn patch(&self) -> Option<Patch> {
        if matches!(self.node.op, Op::NormGrad(_)) {
            return self.node.op.composition(self.graph, self.id);
        }
        let name = self.graph.node_name(self.id);
        let patch = Patch::new(format!("split the rows of {name}"));
        let mut steps = Steps { patch, name, dtype: self.graph.ty(self.x).dtype() };
        let x = steps.widened("x", self.x);
        let y = match &self.node.op {
            Op::LogSoftmax(_) => self.softmax(&mut steps, x, true),
            Op::LayerNorm(op) => self.layer_norm(&mut steps, x, op),
            Op::RmsNorm(op) => self.rms_norm(&mut steps, x, op),
            _ => self.softmax(&mut steps, x, false),
        };
        let mut patch = steps.patch;
        patch.replace(self.node.output(), y);
        Some(patch)
    }

    fn softmax(&self, steps: &mut Steps<'_>, x: PatchRef, log: bool) -> PatchRef {
        let (axes, keepdims) = (self.axes.clone(), true);
        let most = steps.add(ReduceMax { axes, keepdims, noop_with_empty_axes: false }, "max", &[x]);
        let d = steps.add(Sub {}, "below_max", &[x, most]);
        let e = steps.add(Exp {}, "exp", &[d]);
        let axes = self.axes.clone();
        let sum = steps.add(ReduceSum { axes, keepdims, noop_with_empty_axes: false }, "sum", &[e]);
        if log {
            let ln = steps.add(Log {}, "log", &[sum]);
            return steps.last(Sub {}, &[d, ln]);
        }
        steps.last(Div {}, &[e, sum])
    }

    fn mean(&self, steps: &mut Steps<'_>, x: PatchRef, part: &str) -> PatchRef {
        let mean = ReduceMean { axes: self.axes.clone(), keepdims: true, noop_with_empty_axes: false };
        steps.add(mean, part, &[x])
    }

    fn layer_norm(&self, steps: &mut Steps<'_>, x: PatchRef, op: &LayerNorm) -> PatchRef {
        let mean = self.mean(steps, x, "mean");
        let d = steps.add(Sub {}, "less_mean", &[x, mean]);
        let rounding = self.mean(steps, d, "rounding");
        let e = steps.add(Sub {}, "centred", &[d, rounding]);
        self.scaled(steps, e, op.epsilon, 0.0)
    }

    fn rms_norm(&self, steps: &mut Steps<'_>, x: PatchRef, op: &RmsNorm) -> PatchRef {
        self.scaled(steps, x, op.epsilon, op.weight_offset)
    }

    /// e / √(mean e² + ε) · (offset + γ) + β.
    fn scaled(&self, steps: &mut Steps<'_>, e: PatchRef, epsilon: f32, offset: f32) -> PatchRef {
        let square = steps.add(Square {}, "square", &[e]);
        let spread = self.mean(steps, square, "spread");
        let spread = steps.add(Affine { mul: 1.0, add: epsilon }, "spread_and_epsilon", &[spread]);
        let scale = steps.add(Rsqrt {}, "scale", &[spread]);
        let (gamma, beta) = (self.node.input(1), self.node.input(2));
        let Some(gamma) = gamma else { return steps.last(Mul {}, &[e, scale]) };
        let y = steps.add(Mul {}, "normal", &[e, scale]);
        let mut gamma = steps.widened("gamma", gamma);
        if offset != 0.0 {
            gamma = steps.add(Affine { mul: 1.0, add: offset }, "factor", &[gamma]);
        }
        let Some(beta) = beta else { return steps.last(Mul {}, &[y, gamma]) };
        let y = steps.add(Mul {}, "scaled", &[y, gamma]);
        let beta = steps.widened("beta", beta);
        steps.last(Add {}, &[y, beta])
    }
}

/// The nodes of a patch, named after what they replace.
struct Steps<'n> {
    patch: Patch,
    name: &'n str,
    /// Of the op that is replaced.
    dtype: DType,
}

impl Steps<'_> {
    fn add(&mut self, op: impl Into<Op>, part: &str, inputs: &[PatchRef]) -> PatchRef {
        self.patch.add(op, format!("{}.{part}", self.name), inputs)
    }

    /// An operand in f32.
    fn widened(&mut self, part: &str, v: ValueId) -> PatchRef {
        match self.dtype {
            DType::F32 => PatchRef::Old(v),
            _ => self.add(Cast { to: DType::F32 }, &format!("{part}.wide"), &[PatchRef::Old(v)]),
        }
    }

    /// The result, which has the name of what is replaced, in its dtype.
    fn last(&mut self, op: impl Into<Op>, inputs: &[PatchRef]) -> PatchRef {
        if self.dtype == DType::F32 {
            return self.patch.add(op, self.name, inputs);
        }
        let wide = self.add(op, "wide", inputs);
        self.patch.add(Cast { to: self.dtype }, self.name, &[wide])
    }
}
