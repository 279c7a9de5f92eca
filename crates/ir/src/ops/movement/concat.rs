//! `Concat`: tensors one after the other along an axis.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::OpDef;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// All operands one after the other along one axis (ONNX Concat); their other extents are equal.
    pub struct Concat {
        /// The axis.
        axis: i64,
    }
}

impl OpDef for Concat {
    const OPERANDS: &'static [&'static str] = &["xs*"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let first = cx.ty(0)?;
        let axis = cx.axis(self.axis, first.rank())?;
        let mut shape = first.shape.to_vec();
        for i in 1..cx.len() {
            cx.same_dtype(0, i)?;
            cx.expect_rank(i, first.rank())?;
            for (a, (x, y)) in first.shape.iter().zip(cx.ty(i)?.shape.iter()).enumerate() {
                if a == axis {
                    shape[axis] = &shape[axis] + y;
                } else {
                    cx.equal(x, y, "extents off the axis")?;
                }
            }
        }
        one(first.dtype(), shape)
    }

    fn is_joining(&self, shape: &[DimExpr]) -> bool {
        normalize_axis(self.axis, shape.len()).is_ok_and(|axis| shape[..axis].iter().all(|d| d.is(1)))
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shapes: &[&[u64]], axis: i64| {
            let names: Vec<String> = (0..shapes.len()).map(|i| format!("x{i}")).collect();
            let sample = Sample::graph(&format!("{d} {shapes:?} along {axis}"), |g| {
                let each = names.iter().zip(shapes).map(|(n, s)| g.input(n, tensor(d, s.iter().copied())));
                let xs: Vec<Value> = each.collect();
                g.output("y", g.concat(&xs, axis));
            });
            names.iter().fold(sample, |s, n| s.fill(n, Fill::Any))
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[&[5]], 0),
            case(f, &[&[5], &[3]], 0),
            case(f, &[&[2, 3], &[2, 5]], 1),
            case(f, &[&[2, 3], &[4, 3]], 0),
            case(f, &[&[2, 3, 5], &[2, 1, 5], &[2, 7, 5]], -2),
            case(f, &[&[0], &[5], &[0]], 0),
            case(f, &[&[3, 0], &[3, 2], &[3, 0]], 1),
            case(f, &[&[0, 3], &[0, 4]], 1),
            case(f, &[&[2, 1][..]; 11], 1),
            case(f, &[&[1, 33][..]; 9], 0),
            case(f, &[&[64, 64], &[64, 64]], 1),
            case(f, &[&[1, 2, 1, 3, 2, 1, 2, 2], &[1, 2, 1, 3, 2, 5, 2, 2]], 5),
            case(f, &[&[1025], &[31]], 0),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[&[3, 5], &[3, 2]], 1)));
        samples.push(Sample::graph("the same operand twice", |g| {
            let x = g.input("x", tensor(f, [3u64, 7]));
            g.output("y", g.concat(&[x, x], 1));
        }));
        samples.push(Sample::graph("a transposed and a plain operand", |g| {
            let (x, y) = (g.input("x", tensor(f, [7u64, 3])), g.input("y", tensor(f, [3u64, 4])));
            g.output("y", g.concat(&[g.transpose(x, &[]), y], 1));
        }));
        samples.extend([0, 4, 9].map(|n| {
            Sample::graph(&format!("symbolic, {n} rows"), |g| {
                let x = g.input("x", tensor(f, [sym("n", 0..=9), 6.into()]));
                let y = g.input("y", tensor(f, [2u64, 6]));
                g.output("z", g.concat(&[x, y, x], 0));
            })
            .bind("n", n)
        }));
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }

    /// concat(x) == x.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        if cx.node().inputs.len() == 1 { cx.is_operand() } else { None }
    }
}

/// Of each operand its part of dy.
fn rule(op: &Concat, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let rank = cx.shape(cx.y(0)).len();
    let axis = crate::infer::normalize_axis(op.axis, rank).map_err(|_| NoGrad::Composed)?;
    let mut start = DimExpr::constant(0);
    let mut part = |i: usize| {
        let extent = cx.shape(cx.x(i))[axis].clone();
        let before = start.clone();
        start = &start + &extent;
        cx.wanted(i, || cx.g.narrow(cx.dy(), axis as i64, before, extent))
    };
    Ok((0..cx.len()).map(&mut part).collect())
}

impl GraphBuilder {
    /// Tensors one after the other along an axis: xs\[…, nᵢ, …\] → \[…, Σnᵢ, …\].
    #[track_caller]
    pub fn concat(&self, xs: &[Value], axis: i64) -> Value {
        self.apply(Concat { axis }, xs)
    }
}
