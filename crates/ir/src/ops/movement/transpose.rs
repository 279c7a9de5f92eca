//! `Transpose`: axes in another order.

use crate::Op;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

crate::op! {
    /// y.shape\[i\] = x.shape\[perm\[i\]\] (ONNX Transpose). An empty `perm` reverses the axes.
    pub struct Transpose {
        /// Axis of the operand that each axis of the result is.
        perm: Vec<i64> = Vec::new(),
    }
}

impl Transpose {
    /// The permutation as indices, or what is wrong with it.
    pub fn permutation(&self, rank: usize) -> Result<Vec<usize>, OpError> {
        if self.perm.is_empty() {
            return Ok((0..rank).rev().collect());
        }
        if self.perm.len() != rank {
            return Err(OpError::Invalid(format!("perm {:?} does not name the {rank} axes", self.perm)));
        }
        let mut seen = vec![false; rank];
        let mut perm = Vec::with_capacity(rank);
        for &p in &self.perm {
            let i = crate::infer::normalize_axis(p, rank)?;
            if std::mem::replace(&mut seen[i], true) {
                return Err(OpError::DuplicateAxis(p));
            }
            perm.push(i);
        }
        Ok(perm)
    }
}

impl OpDef for Transpose {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let perm = self.permutation(x.rank())?;
        one(x.dtype(), perm.into_iter().map(|p| x.shape[p].clone()).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, shape: &[u64], perm: &[i64]| {
            Sample::graph(&format!("{dtype} {shape:?} by {perm:?}"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("y", g.transpose(x, perm));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[7], &[]),
            case(f, &[], &[]),
            case(f, &[5, 7], &[0, 1]),
            case(f, &[5, 7], &[]),
            case(f, &[33, 65], &[1, 0]),
            case(f, &[257, 31], &[-1, 0]),
            case(f, &[2, 3, 5], &[1, 0, 2]),
            case(f, &[2, 3, 5], &[2, 1, 0]),
            case(f, &[2, 3, 4, 5], &[0, 2, 1, 3]),
            case(f, &[2, 3, 4, 5], &[0, 1, 3, 2]),
            case(f, &[2, 1, 3, 1, 2, 1, 3], &[6, 0, 2, 4, 1, 3, 5]),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 2], &[7, 5, 3, 1, 6, 4, 2, 0]),
            case(f, &[3, 0, 2], &[2, 0, 1]),
            // 129 x 129 tiles, the last of each row and column cut.
            case(f, &[4099, 4101], &[1, 0]),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[3, 5], &[1, 0])));
        // Tiles of 32 x 32: whole ones, cut ones, several matrices, the axis between them in the middle of the result.
        samples.extend([
            case(f, &[64, 96], &[1, 0]),
            case(DType::I32, &[3, 33, 65], &[0, 2, 1]),
            case(DType::U32, &[2, 3, 35, 40], &[0, 3, 1, 2]),
            case(f, &[40, 3, 50], &[2, 1, 0]),
            case(f, &[40, 3, 50], &[2, 0, 1]),
            case(DType::F16, &[33, 47], &[1, 0]),
        ]);
        samples.extend([1, 31, 67].map(symbolic_rows));
        samples.extend([1, 3].map(symbolic_batch));
        samples.push(part_of_a_value());
        samples
    }

    fn is_movement(&self) -> bool {
        true
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// transpose(x, identity) == x; transpose(transpose(x, p), q)\[i\] has axis p\[q\[i\]\] of x.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let rank = cx.graph.ty(cx.operand(0)?).rank();
        let q = self.permutation(rank).ok()?;
        if q.iter().enumerate().all(|(i, &p)| i == p)
            && let Some(simpler) = cx.is_operand()
        {
            return Some(simpler);
        }
        let Op::Transpose(inner) = &cx.before()?.op else { return None };
        let p = inner.permutation(rank).ok()?;
        cx.skips(Transpose { perm: q.iter().map(|&i| p[i] as i64).collect() })
    }
}

fn symbolic_rows(n: u64) -> Sample {
    Sample::graph(&format!("symbolic rows, {n} of 70"), |g| {
        let x = g.input("x", tensor(DType::F32, [2.into(), sym("n", 1..=70), 41.into()]));
        g.output("last", g.transpose(x, &[0, 2, 1]));
        g.output("first", g.transpose(x, &[1, 2, 0]));
    })
    .bind("n", n)
}

fn symbolic_batch(n: u64) -> Sample {
    Sample::graph(&format!("symbolic batch, {n} of 4"), |g| {
        let x = g.input("x", tensor(DType::F32, [sym("n", 1..=4), 34.into(), 37.into()]));
        g.output("y", g.transpose(x, &[0, 2, 1]));
    })
    .bind("n", n)
}

/// Rows and columns that begin and end inside a larger value.
fn part_of_a_value() -> Sample {
    Sample::graph("of a part of a value", |g| {
        let x = g.input("x", tensor(DType::F32, [2u64, 70, 50]));
        let part = g.slice(x, &[3, 5], &[66, 46], &[1, 2], &[]);
        g.output("y", g.transpose(part, &[0, 2, 1]));
        let upwards = g.slice(x, &[-2], &[i64::MIN], &[1], &[-1]);
        g.output("rows upwards", g.transpose(upwards, &[0, 2, 1]));
    })
}

/// dy with its axes put back.
fn rule(op: &Transpose, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let rank = cx.shape(cx.x(0)).len();
    let perm = op.permutation(rank).map_err(|_| NoGrad::Composed)?;
    let mut back = vec![0i64; rank];
    perm.iter().enumerate().for_each(|(i, &from)| back[from] = i as i64);
    Ok(vec![Some(cx.g.transpose(cx.dy(), &back))])
}

impl GraphBuilder {
    /// Axes in another order: x\[d₀, …\] → y with y.shape\[i\] = x.shape\[perm\[i\]\]; an empty `perm` reverses them.
    #[track_caller]
    pub fn transpose(&self, x: Value, perm: &[i64]) -> Value {
        self.apply(Transpose { perm: perm.to_vec() }, &[x])
    }
}
