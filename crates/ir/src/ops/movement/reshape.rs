//! `Reshape`: the same elements under another shape.

use crate::Op;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::def::expansion;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, product, sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// The same elements in row-major order under another shape (ONNX Reshape with the target known). One extent may
    /// be −1: it is what is left.
    pub struct Reshape {
        /// The new extents.
        shape: Vec<DimExpr>,
    }
}

impl OpDef for Reshape {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let open: Vec<usize> = (0..self.shape.len()).filter(|&i| self.shape[i].is(-1)).collect();
        let negative = self.shape.iter().any(|d| d.as_const().is_some_and(|v| v < -1));
        if open.len() > 1 || negative {
            return Err(OpError::Invalid(format!(
                "{} is not a shape with at most one -1",
                cx.show(&self.shape)
            )));
        }
        let mut shape = self.shape.clone();
        if let Some(&i) = open.first() {
            shape[i] = DimExpr::constant(1);
            let known = product(&shape);
            if known.is(0) {
                return Err(OpError::Invalid("-1 beside an extent of 0 is undefined".into()));
            }
            shape[i] = x.elements().exact_quotient(&known).ok_or_else(|| OpError::ExtentMismatch {
                what: "elements left for -1".into(),
                a: cx.show(&x.shape),
                b: cx.show(&self.shape),
            })?;
        } else {
            cx.equal(&x.elements(), &product(&shape), "number of elements")?;
        }
        one(x.dtype(), shape)
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, from: &[u64], to: &[i64]| {
            Sample::graph(&format!("{dtype} {from:?} to {to:?}"), |g| {
                let x = g.input("x", tensor(dtype, from.iter().copied()));
                g.output("y", g.reshape(x, to));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[2, 3], &[3, 2]),
            case(f, &[2, 3], &[-1]),
            case(f, &[], &[1]),
            case(f, &[1], &[]),
            case(f, &[0, 3], &[3, 0]),
            case(f, &[24], &[1, 2, 1, 3, 1, 4, 1, 1]),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[4, 3], &[2, -1])));
        let symbolic = Sample::graph("symbolic, of a transposed operand", |g| {
            let x = g.input("x", f32([sym("n", 1..=8), 6.into()]));
            let t = g.transpose(x, &[1, 0]);
            g.output("y", g.reshape(t, &[2, 3, -1]));
        });
        samples.push(symbolic.bind("n", 5));
        samples
    }

    fn is_movement(&self) -> bool {
        true
    }

    /// reshape(x, shape of x) == x; reshape(reshape(x, s), t) == reshape(x, t).
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let shape = || Reshape { shape: cx.graph.ty(cx.node().output()).shape.to_vec() };
        let again = || matches!(cx.before()?.op, Op::Reshape(_)).then(|| cx.skips(shape())).flatten();
        cx.is_operand().or_else(again)
    }
}

/// dy in x's shape.
fn rule(_: &Reshape, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(cx.g.reshape_to(cx.dy(), cx.shape(cx.x(0))))])
}

impl GraphBuilder {
    /// The same elements under another shape: x\[…\] → \[shape\]; one extent may be −1.
    #[track_caller]
    pub fn reshape(&self, x: Value, shape: &[i64]) -> Value {
        self.reshape_to(x, shape.iter().map(|&d| DimExpr::constant(d)).collect())
    }

    /// The same elements under a shape of expressions.
    #[track_caller]
    pub fn reshape_to(&self, x: Value, shape: Vec<DimExpr>) -> Value {
        self.apply(Reshape { shape }, &[x])
    }
}

/// A node whose elements are its operand's under another shape, as a Reshape.
pub(crate) fn as_reshape(graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let shape = graph.ty(node.output()).shape.to_vec();
    let mut patch = expansion(graph, id);
    let y = patch.add(Reshape { shape }, graph.node_name(id), &[PatchRef::Old(node.input(0)?)]);
    patch.replace(node.output(), y);
    Some(patch)
}
