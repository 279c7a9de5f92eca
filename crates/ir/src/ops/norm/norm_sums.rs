//! `NormSums`: what the gradients of a norm's factor and shift are summed of, in runs.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value, all_or_mistake};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use pumice_types::{DType, DimExpr};

/// Elements of a run at most.
pub const LONGEST_RUN: u64 = 512;

crate::op! {
    /// Σ dy·(x − mean)·inverse and Σ dy over runs of `run` neighbours along an axis, the last run of what is left. x
    /// and dy are f32 of one shape; inverse and mean, 0 where it is not given, have one f32 for each place along the
    /// axis `of` → twice f32, x's shape with ⌈n/run⌉ along the axis.
    pub struct NormSums {
        /// The axis that is summed.
        axis: i64 = 0,
        /// The axis of the statistics.
        of: i64 = 0,
        /// Elements of a run, 512 at most.
        run: u64 = 64 => POSITIVE,
    }
}

impl Default for NormSums {
    fn default() -> NormSums {
        NormSums { axis: 0, of: 0, run: 64 }
    }
}

impl NormSums {
    /// Sums along an axis of this extent, in about 64 runs of 16 to 512 elements: enough groups for a device, and few
    /// sums that are left to add.
    pub fn along(axis: usize, extent: &DimExpr, of: usize) -> NormSums {
        let run = extent.as_extent().map_or(64, |n| n.div_ceil(64).clamp(16, LONGEST_RUN));
        NormSums { axis: axis as i64, of: of as i64, run }
    }
}

impl OpDef for NormSums {
    const OPERANDS: &'static [&'static str] = &["x", "dy", "inverse", "mean?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        for i in (0..4).filter(|&i| i < 3 || cx.opt(i).is_some()) {
            cx.expect_dtype(i, &[DType::F32])?;
        }
        if self.run > LONGEST_RUN {
            let reason = format!("{}, at most {LONGEST_RUN} are summed at once", self.run);
            return Err(AttrError::Value { name: "run", reason }.into());
        }
        let mut shape = cx.ty(0)?.shape.to_vec();
        let [axis, of] = [cx.axis(self.axis, shape.len())?, cx.axis(self.of, shape.len())?];
        cx.expect_rank(1, shape.len())?;
        let upstream = cx.ty(1)?.shape.iter();
        shape.iter().zip(upstream).try_for_each(|(a, b)| cx.equal(a, b, "extents of `x` and of `dy`"))?;
        for i in (2..4).filter(|&i| cx.opt(i).is_some()) {
            cx.expect_rank(i, 1)?;
            cx.equal(&cx.ty(i)?.shape[0], &shape[of], "statistics and their axis of `x`")?;
        }
        shape[axis] = shape[axis].ceil_div(&DimExpr::from(self.run));
        let ty = ValueType::new(DType::F32, shape);
        Ok(smallvec::smallvec![ty.clone(), ty])
    }

    fn samples() -> Vec<Sample> {
        let cases: [(&[u64], i64, i64, u64); 23] = [
            (&[1, 1], 0, 0, 16),
            (&[5, 3], 0, 0, 16),
            (&[64, 7], 0, 0, 16),
            (&[130, 96], 0, 0, 64),
            (&[1000, 268], -2, 0, 512),
            (&[513, 5], 0, 0, 512),
            (&[9, 1025], 0, 0, 4),
            (&[0, 5], 0, 0, 16),
            (&[5, 0], 0, 0, 16),
            (&[70_000, 3], 0, 0, 512),
            // More than 65,535 groups.
            (&[70_000, 5], 0, 0, 1),
            // Statistics of columns.
            (&[40, 12], 0, 1, 16),
            (&[40, 13], 0, -1, 16),
            (&[3, 40, 2, 7], 1, 2, 16),
            (&[3, 40, 2, 7], 1, 0, 16),
            (&[3, 40, 2, 7], 2, 1, 16),
            // The innermost axis.
            (&[2, 3, 17], 2, 1, 512),
            (&[2, 36, 1296], -1, 1, 512),
            (&[4, 5, 64], 2, 0, 16),
            (&[4, 5, 63], 2, 2, 16),
            (&[3, 4, 1], 2, 1, 16),
            (&[2, 0, 5], 2, 0, 16),
            (&[17_000, 4, 2], 2, 1, 16),
        ];
        let case = |&(shape, axis, of, run): &(&[u64], i64, i64, u64)| {
            let op = NormSums { axis, of, run };
            [true, false].map(|centred| case(&op, shape, centred))
        };
        let mut samples: Vec<Sample> = cases.iter().flat_map(case).collect();
        samples.extend([0, 1, 16, 50].map(|n| symbolic(0, n)));
        samples.extend([0, 1, 16, 50].map(|n| symbolic(2, n)));
        samples
    }
}

fn case(op: &NormSums, shape: &[u64], centred: bool) -> Sample {
    let label = format!("{shape:?} {op:?}{}", if centred { "" } else { " without means" });
    let of = if op.of < 0 { op.of + shape.len() as i64 } else { op.of } as usize;
    Sample::graph(&label, |g| {
        let [x, dy] = ["x", "dy"].map(|name| g.input(name, tensor(DType::F32, shape.iter().copied())));
        let [inverse, mean] = ["inverse", "mean"].map(|name| g.input(name, tensor(DType::F32, [shape[of]])));
        outputs(g, op, [x, dy, inverse], centred.then_some(mean));
        if !centred {
            g.output("mean", mean);
        }
    })
    .fill("inverse", Fill::Uniform(0.5, 2.0))
}

/// An axis of up to 64 rows, or of as many elements of a row.
fn symbolic(axis: i64, n: u64) -> Sample {
    Sample::graph(&format!("{n} of up to 64 along axis {axis}"), |g| {
        let mut shape = [2.into(), 3.into(), 5.into()];
        shape[axis as usize] = sym("n", 0..=64);
        let [x, dy] = ["x", "dy"].map(|name| g.input(name, tensor(DType::F32, shape.clone())));
        let [inverse, mean] = ["inverse", "mean"].map(|name| g.input(name, tensor(DType::F32, [3u64])));
        outputs(g, &NormSums { axis, of: 1, run: 16 }, [x, dy, inverse], Some(mean));
    })
    .bind("n", n)
}

fn outputs(g: &GraphBuilder, op: &NormSums, [x, dy, inverse]: [Value; 3], mean: Option<Value>) {
    let (turned, plain) = g.norm_sums(x, dy, inverse, mean, op.clone());
    g.output("turned", turned);
    g.output("plain", plain);
}

/// With t and p the upstream gradients at the element's run: dx = t·dy·inverse, ddy = t·(x − mean)·inverse + p, and
/// over the elements of a place of the statistics dinverse = Σ t·dy·(x − mean), dmean = −Σ t·dy·inverse.
fn rule(op: &NormSums, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let g = cx.g;
    let shape = cx.shape(cx.x(0));
    let [axis, of] = [op.axis, op.of].map(|a| if a < 0 { a + shape.len() as i64 } else { a });
    let at_elements = |gradient: Value| {
        let places = g.range(0u64, shape[axis as usize].clone(), 1, DType::I64);
        let run = g.constant_scalar(DType::I64, op.run as f64);
        g.gather(gradient, g.div(places, run), axis)
    };
    let [turned, plain] = [0, 1].map(|i| cx.upstream(i).map(at_elements));
    let others: Vec<i64> = (0..shape.len() as i64).filter(|&a| a != of).collect();
    let mut column = vec![DimExpr::constant(1); shape.len()];
    column[of as usize] = shape[of as usize].clone();
    let column = |v: Value| g.reshape_to(v, column.clone());
    let apart = || cx.opt(3).map_or(cx.x(0), |mean| g.sub(cx.x(0), column(mean)));
    let inverse = || column(cx.x(2));
    let of_place = |v: Value| g.reduce_sum(v, &others, false);
    let by = |i: usize, make: &dyn Fn(Value) -> Value| {
        let operand = cx.opt(i).filter(|_| cx.wants(i))?;
        Some(turned.map_or_else(|| cx.zeros(operand), make))
    };
    let of_terms = by(1, &|t| g.mul(t, g.mul(apart(), inverse())));
    let by_dy = match (of_terms.filter(|_| turned.is_some()), plain.filter(|_| cx.wants(1))) {
        (Some(a), Some(b)) => Some(g.add(a, b)),
        (a, b) => a.or(b).or(of_terms),
    };
    Ok(vec![
        by(0, &|t| g.mul(t, g.mul(cx.x(1), inverse()))),
        by_dy,
        by(2, &|t| of_place(g.mul(t, g.mul(cx.x(1), apart())))),
        by(3, &|t| g.neg(of_place(g.mul(t, g.mul(cx.x(1), inverse()))))),
    ])
}

impl GraphBuilder {
    /// Sums of dy·(x − mean)·inverse and of dy over runs along an axis: x and dy of one type, statistics of the places
    /// along another axis or the same → twice f32 with as many elements along the axis as there are runs.
    /// [`NormSums`] says the formula.
    #[track_caller]
    pub fn norm_sums(
        &self,
        x: Value,
        dy: Value,
        inverse: Value,
        mean: Option<Value>,
        op: NormSums,
    ) -> (Value, Value) {
        let results = self.apply_all(op, &[Some(x), Some(dy), Some(inverse), mean]);
        let [turned, plain] = all_or_mistake(&results);
        (turned, plain)
    }
}
