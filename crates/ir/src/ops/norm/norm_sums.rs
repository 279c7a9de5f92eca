//! `NormSums`: what the gradients of a norm's factor and shift are summed of, in runs.

use super::norm_grad::alike;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value, all_or_mistake};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis};
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

impl NormSums {
    fn check_run(&self) -> Result<(), OpError> {
        if self.run <= LONGEST_RUN {
            return Ok(());
        }
        let reason = format!("{}, at most {LONGEST_RUN} are summed at once", self.run);
        Err(AttrError::Value { name: "run", reason }.into())
    }
}

impl OpDef for NormSums {
    const OPERANDS: &'static [&'static str] = &["x", "dy", "inverse", "mean?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        self.check_run()?;
        cx.ty(2)?;
        let mut shape = alike(cx)?.to_vec();
        let [axis, of] = [cx.axis(self.axis, shape.len())?, cx.axis(self.of, shape.len())?];
        for i in (2..4).filter(|&i| cx.opt(i).is_some()) {
            cx.expect_rank(i, 1)?;
            cx.equal(&cx.ty(i)?.shape[0], &shape[of], "statistics and their axis of `x`")?;
        }
        shape[axis] = shape[axis].ceil_div(&DimExpr::from(self.run));
        let ty = ValueType::new(DType::F32, shape);
        Ok(smallvec::smallvec![ty.clone(), ty])
    }

    fn samples() -> Vec<Sample> {
        let case = |&(shape, axis, of, run): &Case<'_>| {
            [true, false].map(|centred| case(&NormSums { axis, of, run }, shape, centred))
        };
        let mut samples: Vec<Sample> = CASES.iter().flat_map(case).collect();
        samples.extend([0, 2].into_iter().flat_map(|axis| [0, 1, 16, 50].map(|n| symbolic(axis, n))));
        samples
    }
}

/// Extents, the summed axis, the axis of the statistics, elements of a run.
type Case<'a> = (&'a [u64], i64, i64, u64);
const CASES: [Case<'_>; 26] = [
    (&[8], -1, -1, 3),
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
    // Statistics of one column.
    (&[40, 1], 0, 1, 16),
    (&[3, 40, 1, 1], 1, 3, 16),
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
    let elements = Elements::new(op, cx);
    let [turned, plain] = [0, 1].map(|i| cx.upstream(i).map(|gradient| elements.of_runs(gradient)));
    let turned = elements.of_turned(turned);
    let by_plain = plain.filter(|_| cx.wants(1));
    let [by_x, by_dy, by_inverse, by_mean] = turned;
    let by_dy = by_dy.map(|turned| by_plain.map_or(turned, |plain| g.add(turned, plain)));
    Ok(vec![by_x, by_dy, by_inverse, by_mean])
}

/// The elements of x, as its rule sees them.
struct Elements<'a, 'b> {
    cx: &'a GradCx<'b>,
    shape: Vec<DimExpr>,
    axis: usize,
    of: usize,
    run: u64,
}

impl<'a, 'b> Elements<'a, 'b> {
    fn new(op: &NormSums, cx: &'a GradCx<'b>) -> Elements<'a, 'b> {
        let shape = cx.shape(cx.x(0));
        let [axis, of] = [op.axis, op.of].map(|a| normalize_axis(a, shape.len()).unwrap_or(0));
        Elements { cx, shape, axis, of, run: op.run }
    }

    /// What the upstream gradient of the first result gives of each operand.
    fn of_turned(&self, t: Option<Value>) -> [Option<Value>; 4] {
        let (cx, dy) = (self.cx, self.cx.x(1));
        let (apart, inverse) = (self.apart(), self.column(cx.x(2)));
        let by = |i: usize, factors: [Value; 2]| self.of_factors(t, i, factors);
        let by_mean = by(3, [dy, inverse]).map(|sum| cx.g.neg(sum));
        [by(0, [dy, inverse]), by(1, [apart, inverse]), by(2, [dy, apart]), by_mean]
    }

    /// The gradient of operand `i`, if it is asked for, by the two others of the product.
    fn of_factors(&self, t: Option<Value>, i: usize, factors: [Value; 2]) -> Option<Value> {
        let (cx, g) = (self.cx, self.cx.g);
        let operand = cx.opt(i).filter(|_| cx.wants(i))?;
        let Some(t) = t else { return Some(cx.zeros(operand)) };
        let terms = g.mul(t, g.mul(factors[0], factors[1]));
        Some(if i < 2 { terms } else { self.of_places(terms) })
    }

    /// What each run has, at its elements.
    fn of_runs(&self, gradient: Value) -> Value {
        let g = self.cx.g;
        let places = g.range(0u64, self.shape[self.axis].clone(), 1, DType::I64);
        let run = g.constant_scalar(DType::I64, self.run as f64);
        g.gather(gradient, g.div(places, run), self.axis as i64)
    }

    /// x − mean.
    fn apart(&self) -> Value {
        let x = self.cx.x(0);
        self.cx.opt(3).map_or(x, |mean| self.cx.g.sub(x, self.column(mean)))
    }

    /// Numbers of places as they stretch over x.
    fn column(&self, of_places: Value) -> Value {
        let mut shape = vec![DimExpr::constant(1); self.shape.len()];
        shape[self.of] = self.shape[self.of].clone();
        self.cx.g.reshape_to(of_places, shape)
    }

    /// Sums over the elements of each place of the statistics.
    fn of_places(&self, terms: Value) -> Value {
        let others: Vec<i64> = (0..self.shape.len()).filter(|&a| a != self.of).map(|a| a as i64).collect();
        // No axes would be all axes.
        if others.is_empty() { terms } else { self.cx.g.reduce_sum(terms, &others, false) }
    }
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
