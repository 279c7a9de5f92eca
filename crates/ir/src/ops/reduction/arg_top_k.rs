//! `ArgTopK`: where the largest elements are, in their order.

use super::arg_sort_runs::{ArgSortRuns, RUN, SELECTED};
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::def::expansion;
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

/// The largest number of places of which each run gives some, again and again; more are merged.
const FEW: u64 = RUN;
/// Places of a run of many: half of what one step takes, so that more groups work.
const MANY: u64 = SELECTED / 2;
/// The most elements of an axis.
const MOST: u64 = 1 << 31;

crate::op! {
    /// The places of the k largest (or smallest) elements along an axis, in their order (the indices of ONNX TopK):
    /// x\[…, n, …\] → \[…, k, …\]. NaN is above infinity, −0 equals 0, and of equal elements the smaller place is
    /// first whichever way is asked. No k gives none; a k beyond n is an error.
    pub struct ArgTopK {
        /// The axis.
        axis: i64 = -1,
        /// How many, at most the axis has.
        k: DimExpr,
        /// Whether the largest are asked for.
        largest: bool = true,
        /// I64 or I32.
        index_dtype: DType = DType::I64,
    }
}

/// Errors unless places are counted in that dtype.
pub(super) fn expect_index_dtype(dtype: DType) -> Result<(), OpError> {
    if matches!(dtype, DType::I64 | DType::I32) {
        return Ok(());
    }
    Err(AttrError::Value { name: "index_dtype", reason: "an index is i64 or i32".into() }.into())
}

impl OpDef for ArgTopK {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        expect_index_dtype(self.index_dtype)?;
        let mut shape = cx.ty(0)?.shape.to_vec();
        let axis = cx.axis(self.axis, shape.len())?;
        if self.k.bounds(cx.symbols()).0 < 0 {
            let reason = "the number of elements may be negative".into();
            return Err(AttrError::Value { name: "k", reason }.into());
        }
        cx.at_most(&self.k, &shape[axis], "k and the axis")?;
        if shape[axis].upper(cx.symbols()) > MOST {
            let extent = cx.show(&shape[axis..=axis]);
            return Err(OpError::Invalid(format!("an axis of {extent} may have more than 2^31 elements")));
        }
        shape[axis] = self.k.clone();
        one(self.index_dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let f = DType::F32;
        let mut samples: Vec<Sample> =
            NUMERIC.iter().map(|&d| case(d, &[4, 37], -1, 5, Fill::Special)).collect();
        samples.extend(NUMERIC.iter().map(|&d| case(d, &[3, 1500], -1, 1500, Fill::Range(0, 7))));
        samples.extend([
            case(f, &[1], 0, 1, Fill::Any),
            case(f, &[5], 0, 0, Fill::Any),
            case(f, &[0], 0, 0, Fill::Any),
            case(f, &[0, 7], 1, 3, Fill::Any),
            case(f, &[2, 40_000], 1, 1, Fill::Any),
            case(f, &[1, 40_000], 1, 50, Fill::Range(0, 100)),
            case(f, &[1, 5_000], 1, 256, Fill::Constant(1.0)),
            case(f, &[2, 5_000], 1, 257, Fill::Any),
            case(f, &[1, 5_000], 1, 5_000, Fill::Constant(0.0)),
            case(f, &[1, 9_001], 1, 9_001, Fill::Special),
            case(f, &[3000, 5], 0, 2, Fill::Any),
            case(f, &[2, 1100, 3], 1, 1100, Fill::Range(-3, 3)),
            case(f, &[70_000, 3], -1, 2, Fill::Any),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 5], 7, 3, Fill::Any),
            case(DType::I64, &[2, 2500], 1, 2500, Fill::Special),
        ]);
        samples.extend([(0, 0), (1, 1), (9, 4), (1500, 1024), (2500, 2500), (2500, 3)].map(symbolic));
        samples
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let x = node.input(0)?;
        let shape = &graph.ty(x).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok()?;
        let upper = |d: &DimExpr| d.upper(graph.symbols());
        let runs = ArgSortRuns {
            axis: axis as i64,
            run: RUN as i64,
            sorted: 0,
            keep: None,
            whole: false,
            largest: self.largest,
            index_dtype: DType::I32,
        };
        let mut sort = Sort { patch: expansion(graph, id), name: graph.node_name(id), x, at: None };
        let (k, n) = (upper(&self.k), upper(&shape[axis]));
        let last = if k <= FEW { sort.keep_first(&runs, &self.k, n, k) } else { sort.merge_all(&runs, n) };
        let keep = (self.k != shape[axis]).then(|| self.k.clone());
        let last = ArgSortRuns { index_dtype: self.index_dtype, keep, whole: true, ..last };
        let y = sort.patch.add_opt(last, sort.name, vec![Some(PatchRef::Old(x)), sort.at]);
        sort.patch.replace(node.output(), y);
        Some(sort.patch)
    }
}

/// A sort as far as it is made.
struct Sort<'g> {
    patch: Patch,
    name: &'g str,
    x: crate::ValueId,
    /// The places.
    at: Option<PatchRef>,
}

impl Sort<'_> {
    fn step(&mut self, op: ArgSortRuns) {
        let operands = vec![Some(PatchRef::Old(self.x)), self.at];
        self.at = Some(self.patch.add_opt(op, format!("{}.runs", self.name), operands));
    }

    /// Of every run its first k, until there is one run; the op of the last one.
    fn keep_first(&mut self, runs: &ArgSortRuns, k: &DimExpr, mut places: u64, most: u64) -> ArgSortRuns {
        while places > SELECTED {
            self.step(ArgSortRuns { run: MANY as i64, keep: Some(k.clone()), ..runs.clone() });
            places = places.div_ceil(MANY) * most;
        }
        ArgSortRuns { run: places.next_power_of_two().max(RUN) as i64, ..runs.clone() }
    }

    /// All runs in order, and two of them merged until there is one; the op of the last one.
    fn merge_all(&mut self, runs: &ArgSortRuns, places: u64) -> ArgSortRuns {
        let mut op = runs.clone();
        while (op.run as u64) < places {
            self.step(op.clone());
            op = ArgSortRuns { sorted: op.run, run: 2 * op.run, ..op };
        }
        op
    }
}

fn case(d: DType, shape: &[u64], axis: i64, k: u64, fill: Fill) -> Sample {
    Sample::graph(&format!("{d} {shape:?} along {axis}, {k} of {fill:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("largest", g.arg_top_k(x, k, axis, true));
        let index_dtype = DType::I32;
        g.output("smallest", g.apply(ArgTopK { axis, k: k.into(), largest: false, index_dtype }, &[x]));
    })
    .fill("x", fill)
}

/// An axis of symbolic extent, of which all are taken, and as many as another symbol says.
fn symbolic((n, k): (u64, u64)) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {k} of {n} of 2500"), |g| {
        let x = g.input("x", tensor(DType::F32, [2.into(), sym("n", 0..=2500)]));
        let like = g.input("like", tensor(DType::F32, [sym("k", 0..=2500)]));
        let n = g.dim_of(x, 1);
        g.output("some", g.arg_top_k(x, g.dim_of(like, 0), 1, true));
        g.output("all", g.arg_top_k(x, n.clone(), 1, false));
        g.output("few", g.arg_top_k(x, n.min_with(&3.into()), -1, true));
    });
    sample.bind("n", n).bind("k", k)
}

impl GraphBuilder {
    /// The places of the k largest elements along an axis (`largest` false: of the smallest), in their order; see
    /// [`top_k`](crate::GraphBuilder::top_k): x\[…, n, …\] → i64\[…, k, …\].
    #[track_caller]
    pub fn arg_top_k(&self, x: Value, k: impl Into<DimExpr>, axis: i64, largest: bool) -> Value {
        self.apply(ArgTopK { axis, k: k.into(), largest, index_dtype: DType::I64 }, &[x])
    }
}
