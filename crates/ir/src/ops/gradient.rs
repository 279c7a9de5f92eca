//! How gradients pass an op: the duty `GRAD`, which every op's file states, and what a rule sees.
//!
//! In: a node, the gradients of its float results. Out: those of its float operands, made of ops. Rules make nothing
//! but nodes; which nodes are on a way is the driver's ([`crate::grad`]). The mathematics is that of OPS 3.12.

use crate::builder::{GraphBuilder, Value};
use crate::entity::NodeId;
use crate::graph::Node;
use crate::ops::{NodeCx, Op};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, MAX_RANK};

/// How gradients pass an op. No op is without one of these.
pub enum Grad<T> {
    /// A rule made of ops.
    Rule(fn(&T, &GradCx<'_>) -> Result<Grads, NoGrad>),
    /// Its scalar form's: the tangent of each operand ([`ElementwiseGrad`](super::ElementwiseGrad)).
    Scalar,
    /// Those of the ops that it is made of.
    Expansion,
    /// Its results do not move with its operands: gradients end here.
    Zero,
    /// None is defined, and why.
    No(&'static str),
}

/// Gradients of operands by position; those not wanted, and all after the last one, may be missing.
pub type Grads = Vec<Option<Value>>;

/// A rule has no formula for what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGrad {
    /// The ops that the op is made of have one.
    Composed,
    /// Nothing has.
    Undefined(&'static str),
}

/// How an op is differentiated, without its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differentiation {
    /// By a rule made of ops.
    Rule,
    /// By its scalar form.
    Scalar,
    /// By what it is made of.
    Expansion,
    /// Its results do not move.
    Zero,
    /// It has no gradient, and why.
    No(&'static str),
}

impl<T> Grad<T> {
    /// Which kind it is.
    pub const fn kind(&self) -> Differentiation {
        match self {
            Grad::Rule(_) => Differentiation::Rule,
            Grad::Scalar => Differentiation::Scalar,
            Grad::Expansion => Differentiation::Expansion,
            Grad::Zero => Differentiation::Zero,
            Grad::No(why) => Differentiation::No(why),
        }
    }

    /// What its rule gives; none where there is no rule.
    pub(crate) fn by_rule(&self, op: &T, cx: &GradCx<'_>) -> Option<Result<Grads, NoGrad>> {
        match self {
            Grad::Rule(rule) => Some(rule(op, cx)),
            _ => None,
        }
    }
}

/// What a rule sees of its node.
pub struct GradCx<'a> {
    /// Where nodes go.
    pub g: &'a GraphBuilder,
    /// The node.
    pub node: &'a Node,
    id: NodeId,
    operands: Vec<Option<Value>>,
    results: Vec<Value>,
    upstream: Vec<Option<Value>>,
    wanted: Vec<bool>,
}

impl<'a> GradCx<'a> {
    pub(crate) fn new(
        g: &'a GraphBuilder,
        (id, node): (NodeId, &'a Node),
        upstream: Vec<Option<Value>>,
        wanted: Vec<bool>,
    ) -> GradCx<'a> {
        let operands = node.inputs.iter().map(|v| v.map(|v| g.value_of(v))).collect();
        let results = node.outputs.iter().map(|&v| g.value_of(v)).collect();
        GradCx { g, node, id, operands, results, upstream, wanted }
    }

    /// An operand that inference has seen to be there.
    pub fn x(&self, i: usize) -> Value {
        self.opt(i).unwrap_or(self.results[0])
    }

    /// An operand, if it is there.
    pub fn opt(&self, i: usize) -> Option<Value> {
        self.operands.get(i).copied().flatten()
    }

    /// The operands by position.
    pub(crate) fn operands(&self) -> &[Option<Value>] {
        &self.operands
    }

    /// How many operands there are, absent ones in the middle counted.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there is no operand.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// A result.
    pub fn y(&self, i: usize) -> Value {
        self.results[i]
    }

    /// The results of the node as this op, which it is from now on: the same ones, and maybe more. So a rule asks for
    /// what the node can give besides, and no second node is made.
    ///
    /// # Errors
    /// Where it gives other results: a defect of the rule, whose op is passed as what it is made of.
    pub fn ask(&self, op: impl Into<Op>) -> Result<Vec<Value>, NoGrad> {
        self.g.ask(self.id, op.into()).ok_or(NoGrad::Composed)
    }

    /// The gradient of a result; none where the loss does not depend on it.
    pub fn upstream(&self, i: usize) -> Option<Value> {
        self.upstream.get(i).copied().flatten()
    }

    /// The gradient of a result, or zeros where the loss does not depend on it.
    pub fn upstream_or_zeros(&self, i: usize) -> Value {
        match self.upstream(i) {
            Some(gradient) => gradient,
            None => self.zeros(self.y(i)),
        }
    }

    /// A value, but not before a gradient of the results is there: what a rule computes again from it would lie in
    /// memory from the forward pass on, since everything is computed as early as it can be.
    pub fn held(&self, x: Value) -> Value {
        let first = self.upstream.iter().flatten().next().copied();
        first.and_then(|dy| self.g.barrier(&[x], Some(dy)).first().copied()).unwrap_or(x)
    }

    /// The gradient of the first result, or zeros where the loss depends on others alone.
    pub fn dy(&self) -> Value {
        self.upstream_or_zeros(0)
    }

    /// Whether an operand is a value with two axes exchanged, and no others.
    pub fn is_exchanged(&self, i: usize, a: i64, b: i64) -> bool {
        self.g.look(|graph| NodeCx { graph, id: self.id }.exchanged(i, a, b).is_some())
    }

    /// Whether the gradient of an operand is asked for.
    pub fn wants(&self, i: usize) -> bool {
        self.wanted.get(i).copied().unwrap_or(false)
    }

    /// What `make` gives for an operand whose gradient is asked for.
    pub fn wanted(&self, i: usize, make: impl FnOnce() -> Value) -> Option<Value> {
        self.wants(i).then(make)
    }

    /// The type of a value. One that came out of a mistake, which is told, has as many axes as anybody asks for.
    pub fn ty(&self, x: Value) -> ValueType {
        let any = || ValueType::new(DType::F32, vec![DimExpr::constant(1); MAX_RANK]);
        self.g.type_of(x).unwrap_or_else(any)
    }

    /// The extents of a value.
    pub fn shape(&self, x: Value) -> Vec<DimExpr> {
        self.ty(x).shape.to_vec()
    }

    /// Zeros of a value's type.
    pub fn zeros(&self, like: Value) -> Value {
        self.whole(like, self.ty(like).dtype(), 0.0)
    }

    /// One number in a value's shape.
    pub fn whole(&self, like: Value, dtype: DType, number: f64) -> Value {
        self.g.expand_to(self.g.constant_scalar(dtype, number), self.shape(like))
    }

    /// Zeros of a value's dtype in another shape.
    pub fn zeros_of(&self, like: Value, shape: Vec<DimExpr>) -> Value {
        self.g.expand_to(self.g.constant_scalar(self.ty(like).dtype(), 0.0), shape)
    }

    /// The number of each element of a value, in row-major order, as i64.
    pub fn numbers(&self, like: Value) -> Value {
        let shape = self.shape(like);
        let count = shape.iter().fold(DimExpr::constant(1), |n, extent| n * extent);
        self.g.reshape_to(self.g.range(0u64, count, 1, DType::I64), shape)
    }

    /// Slices along an axis added up at their places in an axis of `extent`, duplicates in a fixed order.
    pub fn added_along(&self, dy: Value, axis: usize, places: Value, extent: impl Into<DimExpr>) -> Value {
        let mut swapped: Vec<i64> = (0..self.shape(dy).len() as i64).collect();
        swapped.swap(0, axis);
        let rows = self.g.transpose(dy, &swapped);
        self.g.transpose(self.g.scatter_add(rows, places, extent), &swapped)
    }

    /// A gradient as a part of a longer axis that is 0 elsewhere: it begins at `start` of `extent`.
    pub fn among_zeros(&self, dy: Value, axis: usize, start: &DimExpr, extent: &DimExpr) -> Value {
        let shape = self.shape(dy);
        let after = extent - start - &shape[axis];
        let zeros = |length: &DimExpr| {
            let mut shape = shape.clone();
            shape[axis] = length.clone();
            (!length.is(0)).then(|| self.zeros_of(dy, shape))
        };
        let parts: Vec<Value> = zeros(start).into_iter().chain([dy]).chain(zeros(&after)).collect();
        if parts.len() == 1 { dy } else { self.g.concat(&parts, axis as i64) }
    }

    /// A gradient summed over what an operand of that type was stretched along.
    pub fn unstretched(&self, gradient: Value, to: Value) -> Value {
        unstretched(self.g, gradient, &self.ty(to).shape)
    }
}

/// A 16-bit float in f32, in which rules compute; f32 as it is.
pub(crate) fn wide(g: &GraphBuilder, x: Value) -> Value {
    g.type_of(x).map_or(x, |ty| g.widened(x, ty.dtype()))
}

/// A gradient computed in f32, in the dtype of the operand whose gradient it is.
pub(crate) fn narrowed(cx: &GradCx<'_>, gradient: Value, operand: Value) -> Value {
    let dtype = cx.ty(operand).dtype();
    if dtype == DType::F32 { gradient } else { cx.g.cast(gradient, dtype) }
}

/// A gradient at the extents that a value of this shape was stretched to, summed over the stretched axes.
pub(crate) fn unstretched(g: &GraphBuilder, gradient: Value, shape: &[DimExpr]) -> Value {
    let Some(ty) = g.type_of(gradient) else { return gradient };
    let new = ty.rank().saturating_sub(shape.len());
    let stretched = |(i, extent): (usize, &DimExpr)| shape[i].is(1) && !extent.is(1);
    let inner = ty.shape.iter().skip(new).enumerate().filter(|&pair| stretched(pair)).map(|(i, _)| new + i);
    let axes: Vec<i64> = (0..new).chain(inner).map(|axis| axis as i64).collect();
    if axes.is_empty() {
        return gradient;
    }
    let sum = g.reduce_sum(gradient, &axes, true);
    if new == 0 { sum } else { g.squeeze(sum, &(0..new as i64).collect::<Vec<_>>()) }
}
