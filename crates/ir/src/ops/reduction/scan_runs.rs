//! `ScanRuns`: sums or products of what comes before, run by run. What cumulative sums and products are made of.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

/// What is summed as it is; 16-bit floats are widened first.
const DTYPES: &[DType] = &[DType::F32, DType::I32, DType::U32, DType::I64, DType::U64];

crate::op! {
    /// Each run of `run` neighbouring elements of an axis, cumulated by itself: y\[i\] = before\[r\] + Σ x\[j\] over
    /// j ≤ i of the same run r, j < i where `exclusive`; without `before` 0. With `product` products, and 1. With
    /// `reverse` runs are counted from the end and j ≥ i. Integers wrap.
    ///
    /// With `totals` the whole of each run alone: \[…, n, …\] → \[…, ⌈n / run⌉, …\], the shape of `before`.
    pub struct ScanRuns {
        /// The axis.
        axis: i64 = -1,
        /// Elements of a run: a power of two, at most 1024.
        run: i64 = 1024,
        /// Whether elements are multiplied.
        product: bool = false,
        /// Whether an element is left out of its own sum.
        exclusive: bool = false,
        /// Whether what comes after is summed.
        reverse: bool = false,
        /// Whether runs give their wholes alone.
        totals: bool = false,
    }
}

impl OpDef for ScanRuns {
    const OPERANDS: &'static [&'static str] = &["x", "before?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, DTYPES)?;
        let shape = cx.ty(0)?.shape.to_vec();
        let axis = cx.axis(self.axis, shape.len())?;
        if !(1..=1024).contains(&self.run) || !(self.run as u64).is_power_of_two() {
            let reason = "a run is a power of two, at most 1024".into();
            return Err(AttrError::Value { name: "run", reason }.into());
        }
        let mut runs = shape.clone();
        runs[axis] = runs[axis].ceil_div(&DimExpr::constant(self.run));
        self.expect_before(cx, &runs)?;
        one(dtype, if self.totals { runs } else { shape })
    }

    fn samples() -> Vec<Sample> {
        let f = DType::F32;
        let mut samples: Vec<Sample> = DTYPES.iter().map(|&d| case(d, &[3, 37], of(64), Fill::Any)).collect();
        samples.extend(DTYPES.iter().map(|&d| {
            case(d, &[2, 300, 3], ScanRuns { axis: 1, product: true, ..of(16) }, Fill::Range(-2, 3))
        }));
        let flags = [(false, false), (true, false), (false, true), (true, true)];
        samples.extend(flags.into_iter().flat_map(|(exclusive, reverse)| {
            let op = |run| ScanRuns { exclusive, reverse, ..of(run) };
            [
                case(f, &[2, 1025], op(1024), Fill::Constant(1.0)),
                case(f, &[65, 70, 40], ScanRuns { axis: 1, ..op(64) }, Fill::Normal),
                case(f, &[1100, 9], ScanRuns { axis: 0, ..op(1024) }, Fill::Any),
                case(DType::I64, &[300, 3], op(1), Fill::Any),
                case(f, &[5, 4], ScanRuns { product: true, ..op(2) }, Fill::Normal),
            ]
        }));
        samples.extend([
            case(f, &[0], of(64), Fill::Any),
            case(f, &[1], of(1024), Fill::Any),
            case(f, &[3, 0, 2], ScanRuns { axis: 1, ..of(8) }, Fill::Any),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 9], of(4), Fill::Any),
            case(f, &[40, 5], of(8), Fill::Special),
        ]);
        samples.extend([0, 1, 33, 1024, 1025, 3000].map(|n| {
            let sample = Sample::graph(&format!("symbolic, {n} of 3000"), |g| {
                let x = g.input("x", tensor(f, [2.into(), sym("n", 0..=3000), sym("c", 1..=30)]));
                let op = |run, reverse| ScanRuns { axis: 1, reverse, ..of(run) };
                let totals = ScanRuns { totals: true, ..op(64, true) };
                let before = g.scan_runs(x, None, totals);
                g.output("y", g.scan_runs(x, Some(before), op(64, true)));
                g.output("long", g.scan_runs(x, None, op(1024, false)));
            });
            sample.bind("n", n).bind("c", 20).fill("x", Fill::Uniform(0.5, 1.5))
        }));
        samples
    }
}

impl ScanRuns {
    fn expect_before(&self, cx: &Infer<'_>, runs: &[DimExpr]) -> Result<(), OpError> {
        if self.totals && (cx.opt(1).is_some() || self.exclusive) {
            return Err(OpError::Invalid("the whole of a run has nothing before it or left out".into()));
        }
        let Some(before) = cx.opt(1) else { return Ok(()) };
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, runs.len())?;
        for (own, of_runs) in before.shape.iter().zip(runs) {
            cx.equal(own, of_runs, "what comes before the runs, and the runs")?;
        }
        Ok(())
    }
}

fn of(run: i64) -> ScanRuns {
    let (axis, product, exclusive, reverse, totals) = (-1, false, false, false, false);
    ScanRuns { axis, run, product, exclusive, reverse, totals }
}

/// The shape of what is there once for each run.
fn runs_of(shape: &[u64], op: &ScanRuns) -> Vec<u64> {
    let axis = normalize_axis(op.axis, shape.len()).unwrap_or(0);
    let extent = |(a, &n): (usize, &u64)| if a == axis { n.div_ceil(op.run as u64) } else { n };
    shape.iter().enumerate().map(extent).collect()
}

/// The wholes of runs, and the runs with and without something before them, which has no sum's error of its own.
fn case(d: DType, shape: &[u64], op: ScanRuns, fill: Fill) -> Sample {
    let ScanRuns { run, product, exclusive, reverse, .. } = op;
    let label = format!("{d} {shape:?} runs of {run} {product} {exclusive} {reverse} {fill:?}");
    let sample = Sample::graph(&label, |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let totals = g.scan_runs(x, None, ScanRuns { totals: true, exclusive: false, ..op.clone() });
        g.output("totals", totals);
        g.output("y", g.scan_runs(x, None, op.clone()));
        let before = g.input("before", tensor(d, runs_of(shape, &op)));
        g.output("continued", g.scan_runs(x, Some(before), op.clone()));
    });
    sample.fill("x", fill.clone()).fill("before", fill)
}

impl GraphBuilder {
    /// Runs of an axis cumulated: x\[…, n, …\], before\[…, ⌈n / run⌉, …\] or none → x's type, or the wholes. For whole
    /// axes see [`cum_sum`](crate::GraphBuilder::cum_sum).
    #[track_caller]
    pub fn scan_runs(&self, x: Value, before: Option<Value>, op: ScanRuns) -> Value {
        self.apply_all(op, &[Some(x), before])[0]
    }
}
