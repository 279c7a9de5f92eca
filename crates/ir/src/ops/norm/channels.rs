//! What norms of channels share: the type rule of x\[B, C, …\] with numbers of \[C\], the steps of an expansion in f32,
//! the norm of groups of channels.

use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, Cast, LayerNorm, Mul, Reshape};
use crate::shape::{ValueType, product};
use crate::{Graph, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};

/// Errors unless x, operand 0, is a float tensor of batch, channels and more, and each operand of `numbers` one number
/// of its dtype for each channel.
pub(super) fn expect_channels<'a>(
    cx: &Infer<'a>,
    numbers: std::ops::Range<usize>,
) -> Result<&'a ValueType, OpError> {
    cx.expect_dtype(0, FLOATS)?;
    let x = cx.ty(0)?;
    if x.rank() < 2 {
        let expected = "expected 2 or more: batch and channels first".to_owned();
        return Err(OpError::Rank { operand: "x", rank: x.rank(), expected });
    }
    for i in numbers {
        cx.same_dtype(0, i)?;
        expect_number_each(cx, i, &x.shape[1])?;
    }
    Ok(x)
}

/// Errors unless operand `i` has one number for each channel.
pub(super) fn expect_number_each(cx: &Infer<'_>, i: usize, channels: &DimExpr) -> Result<(), OpError> {
    cx.expect_rank(i, 1)?;
    let what = format!("`{}` and the channels of `x`", cx.name(i));
    cx.equal(&cx.ty(i)?.shape[0], channels, &what)
}

/// A patch while it grows, computing in f32: names of its nodes begin with the op's.
pub(super) struct Steps<'g> {
    pub patch: Patch,
    graph: &'g Graph,
    name: &'g str,
    dtype: DType,
}

impl<'g> Steps<'g> {
    /// Of the expansion of a node whose first result has that dtype.
    pub fn new(graph: &'g Graph, id: NodeId) -> Steps<'g> {
        let dtype = graph.ty(graph.node(id).output()).dtype();
        Steps { patch: expansion(graph, id), graph, name: graph.node_name(id), dtype }
    }

    pub fn add(&mut self, what: &str, op: impl Into<Op>, operands: &[PatchRef]) -> PatchRef {
        self.patch.add(op, format!("{}.{what}", self.name), operands)
    }

    /// An operand in f32.
    pub fn widened(&mut self, v: ValueId) -> PatchRef {
        match self.graph.ty(v).dtype() {
            DType::F32 => PatchRef::Old(v),
            _ => self.add("wide", Cast { to: DType::F32 }, &[PatchRef::Old(v)]),
        }
    }

    /// The sum under the op's name, in the first result's dtype.
    pub fn result(&mut self, terms: &[PatchRef]) -> PatchRef {
        self.last(Add {}, terms)
    }

    /// The last op under the node's name, in the first result's dtype.
    pub fn last(&mut self, op: impl Into<Op>, operands: &[PatchRef]) -> PatchRef {
        if self.dtype == DType::F32 {
            return self.patch.add(op, self.name, operands);
        }
        let wide = self.add("whole", op, operands);
        self.patch.add(Cast { to: self.dtype }, self.name, &[wide])
    }

    /// Numbers of channels as they stretch over x: \[C, 1…\], with x's C.
    pub fn column(&mut self, v: PatchRef, x: &[DimExpr]) -> PatchRef {
        let ones = x[2..].iter().map(|_| DimExpr::constant(1));
        let shape: Vec<DimExpr> = std::iter::once(x[1].clone()).chain(ones).collect();
        self.add("column", Reshape { shape }, &[v])
    }
}

/// N(x)·γ + β == Add(Mul(Reshape(LayerNorm(Reshape(x))), γ), β): rows \[B, groups, channels of each·…\] are normalized,
/// in f32 with casts back.
pub(super) fn of_groups(
    graph: &Graph,
    id: NodeId,
    [groups, channels]: [DimExpr; 2],
    epsilon: f32,
) -> Option<Patch> {
    let node = graph.node(id);
    let (x, shape) = (node.input(0)?, graph.ty(node.output()).shape.clone());
    let rows = vec![shape[0].clone(), groups, channels * product(&shape[2..])];
    let mut steps = Steps::new(graph, id);
    let wide = steps.widened(x);
    let rows = steps.add("rows", Reshape { shape: rows }, &[wide]);
    let normal = steps.add("normal", LayerNorm { epsilon, ..LayerNorm::default() }, &[rows]);
    let normal = steps.add("shaped", Reshape { shape: shape.to_vec() }, &[normal]);
    let [gamma, beta] = [node.input(1)?, node.input(2)?].map(|v| {
        let wide = steps.widened(v);
        steps.column(wide, &shape)
    });
    let scaled = steps.add("scaled", Mul {}, &[normal, gamma]);
    let y = steps.result(&[scaled, beta]);
    let mut patch = steps.patch;
    patch.replace(node.output(), y);
    Some(patch)
}
