//! `ArgSortRuns`: the places of an axis in order, run by run. What sorts are made of.

use super::arg_top_k::expect_index_dtype;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::NUMERIC;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr, Tensor};

/// Places of a run that one step sorts by itself.
pub const RUN: u64 = 1024;
/// Places of a run of which one step finds the first, at most `RUN` of them.
pub const SELECTED: u64 = 1 << 14;

crate::op! {
    /// Of x and of places along one of its axes, all of them or `order`: each run of `run` neighbouring ones is put in
    /// the order of x's elements there. `keep` of a run stay, −1 where it has fewer: \[…, ⌈m / run⌉·keep, …\]; without
    /// `keep` all stay: \[…, m, …\]. With `whole` one run has them all, m ≤ `run`: \[…, keep, …\].
    ///
    /// NaN is above infinity, −0 equals 0, and of equal elements the smaller place is first whichever way is asked. A
    /// place of `order` that is outside the axis is none; it comes after all others and becomes −1.
    ///
    /// With `sorted` each run of so many places of `order` is in order already, and `run` is twice that: the runs are
    /// merged. Where they are not in order the result is some places of the run.
    pub struct ArgSortRuns {
        /// The axis.
        axis: i64 = -1,
        /// Places that are put in order together: a power of two; where they are not merged at most 1024, or 16,384 of
        /// which at most 1024 stay.
        run: i64,
        /// How many are in order already; 0: none.
        sorted: i64 = 0,
        /// How many of a run stay: at most `run`.
        keep: Option<DimExpr> = None,
        /// Whether there is one run.
        whole: bool = false,
        /// Whether the largest come first.
        largest: bool = false,
        /// I64 or I32.
        index_dtype: DType = DType::I32,
    }
}

impl OpDef for ArgSortRuns {
    const OPERANDS: &'static [&'static str] = &["x", "order?"];
    const GRAD: Grad<Self> = Grad::Zero;
    const STEERS: &'static [&'static str] = &["order"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        expect_index_dtype(self.index_dtype)?;
        let x = cx.ty(0)?;
        let axis = cx.axis(self.axis, x.rank())?;
        self.expect_runs(cx)?;
        let mut shape = x.shape.to_vec();
        if let Some(order) = cx.opt(1) {
            expect_order(cx, axis)?;
            shape = order.shape.to_vec();
        }
        shape[axis] = self.extent(cx, &shape[axis])?;
        one(self.index_dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let (f, run) = (DType::F32, RUN as i64);
        let mut samples: Vec<Sample> =
            NUMERIC.iter().map(|&d| case(d, &[3, 37], of(64), Fill::Special)).collect();
        samples.extend(
            NUMERIC
                .iter()
                .map(|&d| case(d, &[5, 2500], ArgSortRuns { largest: true, ..of(run) }, Fill::Range(0, 9))),
        );
        samples.extend(selected());
        samples.extend([
            case(f, &[7], of(1), Fill::Any),
            case(f, &[0], of(64), Fill::Any),
            case(f, &[4, 0, 3], of(64), Fill::Any),
            case(f, &[300, 3], of(4), Fill::Any),
            case(f, &[5, 70, 3], ArgSortRuns { axis: 1, ..of(32) }, Fill::Special),
            case(f, &[1100, 2], ArgSortRuns { axis: 0, ..of(run) }, Fill::Any),
            case(f, &[2, 100], ArgSortRuns { keep: Some(3.into()), ..of(16) }, Fill::Any),
            case(
                f,
                &[2, 100],
                ArgSortRuns { keep: Some(16.into()), index_dtype: DType::I64, ..of(16) },
                Fill::Any,
            ),
            case(f, &[2, 5000], ArgSortRuns { keep: Some(50.into()), largest: true, ..of(run) }, Fill::Any),
            case(f, &[2, 100], ArgSortRuns { keep: Some(0.into()), ..of(16) }, Fill::Any),
            case(f, &[2, 10], ArgSortRuns { keep: Some(60.into()), whole: true, ..of(64) }, Fill::Any),
            case(f, &[2, 0], ArgSortRuns { keep: Some(3.into()), whole: true, ..of(64) }, Fill::Any),
        ]);
        samples.extend(extreme_places());
        samples
            .extend([3000, 4096, 4097, 5000].into_iter().flat_map(|n| [f, DType::U64].map(|d| merged(d, n))));
        // A merge finds where halves are cut by rounds of 129: all of the first half is one of the answers.
        samples.extend([1024 + 129, 1024 + 258, 3 * 1024 + 129, 6000].map(|n| {
            let sample = merged(f, n).fill("x", Fill::Constant(2.0));
            Sample { label: format!("{n} equal values merged"), ..sample }
        }));
        samples.extend([0, 1, 33, 1024, 1025, 3000].map(|n| {
            let sample = Sample::graph(&format!("symbolic, {n} of 3000"), |g| {
                let x = g.input("x", tensor(f, [2.into(), sym("n", 0..=3000), sym("c", 1..=3)]));
                let op = |keep| ArgSortRuns { axis: 1, keep, ..of(run) };
                let kept = g.arg_sort_runs(x, None, op(Some(20.into())));
                let whole = ArgSortRuns { whole: true, ..op(Some(20.into())) };
                g.output("kept", g.arg_sort_runs(x, Some(kept), whole));
                let short = g.input("short", tensor(f, [sym("m", 0..=1000)]));
                let few = ArgSortRuns { axis: 0, ..op(Some(3.into())) };
                g.output("few", g.arg_sort_runs(short, None, few));
                let sorted = g.arg_sort_runs(x, None, op(None));
                g.output("merged", g.arg_sort_runs(x, Some(sorted), ArgSortRuns { axis: 1, ..merging(run) }));
            });
            sample.bind("n", n).bind("c", 2).bind("m", n.min(1000))
        }));
        samples
    }
}

impl ArgSortRuns {
    fn expect_runs(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let wrong = |name, reason: &str| Err(AttrError::Value { name, reason: reason.to_owned() }.into());
        if self.run < 1 || self.run > 1 << 31 || !(self.run as u64).is_power_of_two() {
            return wrong("run", "a run is a power of two, at most 2^31");
        }
        let few = self.keep.as_ref().is_some_and(|keep| keep.upper(cx.symbols()) <= RUN);
        let most = if few { SELECTED } else { RUN };
        if self.sorted == 0 && self.run > most as i64 {
            return wrong("run", "a run that is not merged has 1024 places, or 16384 of which 1024 stay");
        }
        if self.sorted != 0 && (self.sorted.checked_mul(2) != Some(self.run) || self.sorted < RUN as i64) {
            return wrong("sorted", "two runs of at least 1024 places are merged into one");
        }
        if self.sorted != 0 && cx.opt(1).is_none() {
            return Err(OpError::Invalid("nothing is in order without `order`".to_owned()));
        }
        Ok(())
    }

    /// The extent that an axis of so many places becomes.
    fn extent(&self, cx: &Infer<'_>, m: &DimExpr) -> Result<DimExpr, OpError> {
        let run = DimExpr::constant(self.run);
        if self.whole {
            cx.at_most(m, &run, "places of one run")?;
        }
        let Some(keep) = &self.keep else { return Ok(m.clone()) };
        if keep.bounds(cx.symbols()).0 < 0 {
            return Err(AttrError::Value { name: "keep", reason: "it may be negative".into() }.into());
        }
        cx.at_most(keep, &run, "places kept of a run")?;
        Ok(if self.whole { keep.clone() } else { m.ceil_div(&run) * keep })
    }
}

/// Places of x, for each of its rows as many.
fn expect_order(cx: &Infer<'_>, axis: usize) -> Result<(), OpError> {
    let (x, order) = (cx.ty(0)?, cx.ty(1)?);
    cx.expect_dtype(1, &[DType::I32])?;
    cx.expect_rank(1, x.rank())?;
    for (a, (own, of_x)) in order.shape.iter().zip(x.shape.iter()).enumerate() {
        if a != axis {
            cx.equal(own, of_x, "extents of x and of its places off the axis")?;
        }
    }
    Ok(())
}

fn of(run: i64) -> ArgSortRuns {
    let (axis, sorted, keep, whole, largest, index_dtype) = (-1, 0, None, false, false, DType::I32);
    ArgSortRuns { axis, run, sorted, keep, whole, largest, index_dtype }
}

fn merging(sorted: i64) -> ArgSortRuns {
    ArgSortRuns { sorted, ..of(2 * sorted) }
}

fn case(d: DType, shape: &[u64], op: ArgSortRuns, fill: Fill) -> Sample {
    let label = format!("{d} {shape:?} by {} {:?} {fill:?}", op.run, op.keep);
    let sample = Sample::graph(&label, |g| {
        g.output("y", g.arg_sort_runs(g.input("x", tensor(d, shape.iter().copied())), None, op.clone()));
    });
    sample.fill("x", fill)
}

/// Runs of more than 1024, of which the first stay.
fn selected() -> Vec<Sample> {
    let of = |run, keep: u64, largest| ArgSortRuns { keep: Some(keep.into()), largest, ..of(run) };
    let every = NUMERIC.iter().flat_map(|&d| {
        [(false, Fill::Special), (true, Fill::Range(0, 30))]
            .map(|(largest, fill)| case(d, &[2, 2500], of(2048, 70, largest), fill))
    });
    let f = DType::F32;
    let inner = ArgSortRuns { axis: 1, ..of(2048, 1000, false) };
    let odd = [
        case(f, &[2, 5000], of(4096, 1, false), Fill::Special),
        case(f, &[1, 20_000], of(8192, 50, true), Fill::Any),
        case(f, &[2, 3000, 2], inner, Fill::Range(0, 9)),
        case(f, &[2, 1500], of(2048, 0, false), Fill::Any),
        case(f, &[1, 9000], of(16_384, 1024, false), Fill::Constant(2.0)),
    ];
    every.chain(odd).collect()
}

/// Most places of the order are one, which comes last of those that are kept.
fn one_place_often() -> Sample {
    Sample::graph("chosen where one place stands often", |g| {
        let x = g.input("x", tensor(DType::F32, [2, 3000]));
        let mut order = vec![7; 2000];
        order.extend([3, 11, 7]);
        let order = g.constant(Tensor::new(&order, &[1, 2003]).expect("all places"));
        let both = g.expand(order, &[2, 2003]);
        let op = ArgSortRuns { keep: Some(900.into()), ..of(2048) };
        g.output("y", g.arg_sort_runs(x, Some(both), op));
    })
    .fill("x", Fill::Range(0, 3000))
}

/// Merged though nothing is in order: some places of the run, whatever they are, and no poison.
fn no_order() -> Sample {
    Sample::graph("runs that are not in order", |g| {
        let x = g.input("x", tensor(DType::F32, [2, 2048]));
        let order = g.input("order", tensor(DType::I32, [2, 2048]));
        let y = g.arg_sort_runs(x, Some(order), merging(1024));
        g.output("inside", g.reduce_all(g.less(y, g.constant_scalar(DType::I32, 2048.0)), &[0, 1], false));
    })
}

fn any_places() -> Sample {
    Sample::graph("chosen from places that say anything", |g| {
        let x = g.input("x", tensor(DType::F32, [2, 1200]));
        let order = g.input("order", tensor(DType::I32, [2, 3000]));
        g.output("y", g.arg_sort_runs(x, Some(order), ArgSortRuns { keep: Some(900.into()), ..of(2048) }));
    })
    .fill("order", Fill::Range(-500, 1500))
}

/// Orders that name places at their extremes.
fn extreme_places() -> Vec<Sample> {
    let build = |g: &GraphBuilder, d: DType, order: Value, largest: bool| {
        let x = g.param("x", tensor(d, [1, 5]));
        g.output("y", g.arg_sort_runs(x, Some(order), ArgSortRuns { largest, ..of(8) }));
    };
    let one = |g: &GraphBuilder, order| build(g, DType::F32, g.reshape(order, &[1, 1]), false);
    let mut samples = steering_samples("a place of an order", 5, |_| false, one);
    samples.push(no_order());
    samples.push(one_place_often());
    samples.push(any_places());
    samples.extend([(DType::F32, true), (DType::I64, false)].map(|(d, largest)| {
        let list = |g: &GraphBuilder, order| build(g, d, order, largest);
        steering_list(&format!("places of an order of {d}"), DType::I32, 5, &[1, 7], list)
    }));
    samples
}

/// Runs of 1024, of 2048 and of 4096, of which some stay.
fn merged(d: DType, n: u64) -> Sample {
    Sample::graph(&format!("{d}, runs of {n} merged"), |g| {
        let x = g.input("x", tensor(d, [2, n]));
        let first = g.arg_sort_runs(x, None, of(RUN as i64));
        let second = g.arg_sort_runs(x, Some(first), merging(1024));
        g.output("second", second);
        let last = ArgSortRuns { index_dtype: DType::I64, ..merging(2048) };
        g.output("third", g.arg_sort_runs(x, Some(second), last.clone()));
        let some = ArgSortRuns { keep: Some(1500.into()), whole: n <= 4096, ..last };
        g.output("some", g.arg_sort_runs(x, Some(second), some));
    })
    .fill("x", Fill::Range(0, 100))
}

impl GraphBuilder {
    /// Places in order, run by run: x\[…, n, …\], places i32\[…, m, …\] or all → \[…, m, …\], or as many as `keep`
    /// says. For sorts see [`sort`](crate::GraphBuilder::sort) and [`top_k`](crate::GraphBuilder::top_k).
    #[track_caller]
    pub fn arg_sort_runs(&self, x: Value, order: Option<Value>, op: ArgSortRuns) -> Value {
        self.apply_all(op, &[Some(x), order])[0]
    }
}
