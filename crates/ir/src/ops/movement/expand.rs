//! `Expand`: axes of extent 1 stretched.

use crate::Op;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// x stretched to the shape that x and `shape` broadcast to (ONNX Expand): a 1 in `shape` keeps x's extent, and
    /// `shape` may have fewer axes than x.
    pub struct Expand {
        /// The shape to broadcast with.
        shape: Vec<DimExpr>,
    }
}

impl OpDef for Expand {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        if self.shape.iter().any(|d| d.as_const().is_some_and(|v| v < 0)) {
            return Err(OpError::Invalid(format!("{} is not a shape", cx.show(&self.shape))));
        }
        cx.not_negative(&self.shape)?;
        let x = cx.ty(0)?;
        one(x.dtype(), cx.broadcast(&x.shape, &self.shape)?)
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, from: &[u64], to: &[i64]| {
            Sample::graph(&format!("{d} {from:?} to {to:?}"), |g| {
                let x = g.input("x", tensor(d, from.iter().copied()));
                g.output("y", g.expand(x, to));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[], &[]),
            case(f, &[], &[3, 5]),
            case(f, &[5], &[3, 5]),
            case(f, &[3, 1], &[3, 5]),
            case(f, &[3, 1], &[2, 1, 5]),
            case(f, &[2, 3, 5], &[1]),
            case(f, &[2, 3, 5], &[3, 1]),
            case(f, &[1, 5], &[0, 5]),
            case(f, &[0, 5], &[1, 5]),
            case(f, &[1, 33, 1], &[64, 1, 65]),
            case(f, &[1, 2, 1, 3, 1, 2, 1, 2], &[2, 2, 2, 3, 2, 2, 2, 2]),
            case(f, &[2, 1], &[2, 1025]),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[4, 1], &[2, 4, 3])));
        samples.extend([0, 1, 5, 9].map(|n| {
            Sample::graph(&format!("symbolic, {n} rows"), |g| {
                let x = g.input("x", tensor(f, [sym("n", 0..=9), 1.into()]));
                let rows = g.dim_of(x, 0);
                let y = g.expand_to(x, vec![rows, DimExpr::constant(7)]);
                let z = g.expand_to(g.constant_scalar(f, 2.0), vec![g.dim_of(x, 0), DimExpr::constant(3)]);
                g.output("y", y);
                g.output("z", z);
            })
            .bind("n", n)
        }));
        samples
    }

    fn is_movement(&self) -> bool {
        true
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// expand(x, shape of x) == x; expand(expand(x, s), t) == expand(x, broadcast(s, t)).
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let shape = || Expand { shape: cx.graph.ty(cx.node().output()).shape.to_vec() };
        let again = || matches!(cx.before()?.op, Op::Expand(_)).then(|| cx.skips(shape())).flatten();
        cx.is_operand().or_else(again)
    }
}

/// dy summed over the axes that were stretched.
fn rule(_: &Expand, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(cx.unstretched(cx.dy(), cx.x(0)))])
}

impl GraphBuilder {
    /// Axes of extent 1 stretched: x\[…\] → what x's shape and `shape` broadcast to.
    #[track_caller]
    pub fn expand(&self, x: Value, shape: &[i64]) -> Value {
        self.expand_to(x, shape.iter().map(|&d| DimExpr::constant(d)).collect())
    }

    /// As [`GraphBuilder::expand`], with expressions.
    #[track_caller]
    pub fn expand_to(&self, x: Value, shape: Vec<DimExpr>) -> Value {
        self.apply(Expand { shape }, &[x])
    }
}
