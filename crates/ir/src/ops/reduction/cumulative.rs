//! What cumulative sums and products share: their type rule, what they are made of, their samples.

use super::scan_runs::ScanRuns;
use crate::builder::GraphBuilder;
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis};
use crate::ops::def::expansion;
use crate::ops::{Cast, Op};
use crate::sample::{Fill, Sample};
use crate::shape::{product, sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef, Value};
use pumice_types::{DType, DimExpr};

/// What can be cumulated.
const DTYPES: &[DType] =
    &[DType::F32, DType::F16, DType::BF16, DType::I32, DType::U32, DType::I64, DType::U64];
/// Elements of a run: of rows, and of columns, of which a group takes several side by side.
const RUN: u64 = 1024;
const RUN_OF_COLUMN: u64 = 64;
/// Columns side by side from which on runs are short.
const COLUMNS: u64 = 8;

/// How an axis is cumulated.
#[derive(Clone, Copy, Debug)]
pub struct Cumulation {
    pub axis: i64,
    pub product: bool,
    pub exclusive: bool,
    pub reverse: bool,
}

pub fn infer_cumulative(cx: &Infer<'_>, axis: i64) -> Result<Types, OpError> {
    cx.expect_dtype(0, DTYPES)?;
    cx.axis(axis, cx.ty(0)?.rank())?;
    Ok(smallvec::smallvec![cx.ty(0)?.clone()])
}

impl Cumulation {
    /// Runs by themselves, where there are more than one beginning with what all before them make.
    pub fn expand(self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let x = node.input(0)?;
        let ty = graph.ty(x);
        let axis = normalize_axis(self.axis, ty.rank()).ok()?;
        let upper = |d: &DimExpr| d.upper(graph.symbols());
        let run = run_of(upper(&product(&ty.shape[axis + 1..])));
        let mut scan =
            Scan { patch: expansion(graph, id), name: graph.node_name(id), axis: axis as i64, run };
        let narrow = matches!(ty.dtype(), DType::F16 | DType::BF16);
        let x = PatchRef::Old(x);
        let x = if narrow { scan.cast(x, DType::F32) } else { x };
        let y = scan.cumulate(x, upper(&ty.shape[axis]), self);
        let y = if narrow { scan.cast(y, ty.dtype()) } else { y };
        scan.patch.replace(node.output(), y);
        Some(scan.patch)
    }
}

/// Elements of a run, where so many columns lie side by side.
fn run_of(columns: u64) -> u64 {
    if columns < COLUMNS { RUN } else { RUN_OF_COLUMN }
}

/// A cumulation as far as it is made.
struct Scan<'g> {
    patch: Patch,
    name: &'g str,
    axis: i64,
    run: u64,
}

impl Scan<'_> {
    fn cast(&mut self, x: PatchRef, to: DType) -> PatchRef {
        self.patch.add(Cast { to }, format!("{}.cast", self.name), &[x])
    }

    fn cumulate(&mut self, x: PatchRef, n: u64, op: Cumulation) -> PatchRef {
        let Cumulation { product, exclusive, reverse, .. } = op;
        // Of a short axis several rows make one group's run.
        let (axis, run) = (self.axis, self.run.min(n.max(1).next_power_of_two()) as i64);
        let runs = ScanRuns { axis, run, product, exclusive, reverse, totals: false };
        let before = (n > self.run).then(|| {
            let totals = ScanRuns { exclusive: false, totals: true, ..runs.clone() };
            let totals = self.patch.add_opt(totals, format!("{}.totals", self.name), vec![Some(x), None]);
            self.cumulate(totals, n.div_ceil(self.run), Cumulation { exclusive: true, reverse: false, ..op })
        });
        self.patch.add_opt(runs, format!("{}.runs", self.name), vec![Some(x), before])
    }
}

pub fn cumulative_samples(of: impl Fn(i64, bool, bool) -> Op, is_product: bool) -> Vec<Sample> {
    let apply =
        |g: &GraphBuilder, x: Value, axis, exclusive, reverse| g.apply(of(axis, exclusive, reverse), &[x]);
    let case = |d: DType, shape: &[u64], axis: i64, fill: Fill| {
        let sample = Sample::graph(&format!("{d} {shape:?} along {axis} {fill:?}"), |g| {
            let x = g.input("x", tensor(d, shape.iter().copied()));
            g.output("y", apply(g, x, axis, false, false));
            g.output("exclusive", apply(g, x, axis, true, false));
            g.output("reverse", apply(g, x, axis, false, true));
            g.output("both", apply(g, x, axis, true, true));
        });
        sample.fill("x", fill)
    };
    let f = DType::F32;
    // A product in f32 may overflow on a way that another order does not take.
    let special = match is_product {
        true => Fill::Floats(vec![2.0, -1.0, 0.5, f64::INFINITY, 1.0, 4.0, 0.0, 1.0, f64::NAN, -0.0, 3.0]),
        false => Fill::Special,
    };
    let near_one = if is_product { Fill::Uniform(0.999, 1.001) } else { Fill::Normal };
    let mut samples: Vec<Sample> =
        DTYPES.iter().map(|&d| case(d, &[4, 37], -1, Fill::Range(-2, 3))).collect();
    samples
        .extend([DType::F32, DType::F16, DType::I64].map(|d| case(d, &[2, 1100, 3], 1, Fill::Range(1, 2))));
    samples.extend([
        case(f, &[1], 0, Fill::Any),
        case(f, &[0], 0, Fill::Any),
        case(f, &[3, 0, 2], 1, Fill::Any),
        case(f, &[7, 5], 0, special),
        case(f, &[3, 1024], 1, near_one.clone()),
        case(f, &[3, 1025], 1, Fill::Constant(1.0)),
        case(f, &[130, 33], 0, near_one.clone()),
        case(f, &[5000, 9], 0, near_one.clone()),
        case(f, &[1, 70_001], 1, Fill::Constant(1.0)),
        case(f, &[70_000, 2], 1, Fill::Range(-2, 3)),
        case(f, &[1, 2, 3, 1, 4, 2, 1, 5], 4, near_one),
        case(DType::I64, &[2, 2500], 1, Fill::Any),
        case(DType::BF16, &[2500, 2], 0, Fill::Uniform(0.5, 1.0)),
    ]);
    samples.extend([0, 1, 70, 1500, 2500].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 2500"), |g| {
            let x = g.input("x", tensor(f, [2.into(), sym("n", 0..=2500), sym("c", 1..=30)]));
            g.output("y", apply(g, x, 1, false, false));
            g.output("reverse", apply(g, x, -2, true, true));
        });
        sample.bind("n", n).bind("c", 3).fill("x", Fill::Range(1, 2))
    }));
    samples
}
