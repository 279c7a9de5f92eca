//! `ScatterSorted`: updates whose places are in order. The last part of scatters of many updates, and how all parts are
//! put together.

use super::scatter::ScatterReduction;
use super::scatter_partials::{CHUNK, ScatterPartials};
use super::scatter_places::ScatterPlaces;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::def::expansion;
use crate::ops::steering_samples::{extremes, steering_list, steering_samples};
use crate::ops::{ArgTopK, GatherElements, Grad, Op, OpDef, Reshape};
use crate::sample::{Fill, Sample};
use crate::shape::{product, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr, Tensor};

/// The most updates that every element of data looks at, and how often that may be done.
const FEW: u64 = 128;
const LOOKS: u64 = 1 << 24;
/// So few are looked at however often.
const FEWEST: u64 = 8;
/// The most updates of rows of floats that groups of places look at, and how often all elements of groups do that:
/// sorts are 10 to 14 levels, what groups look at is one (docs/selection.md).
const LISTED: u64 = 1 << 16;
const LISTED_LOOKS: u64 = 1 << 32;
/// The most elements of which groups list: every group looks, also those that no update is for. 31 rows of 217 into
/// 89,240 took 536 us listed, 200 sorted (H200, 2026-11-26); memory takes 53.
const LISTED_ELEMENTS: u64 = 1 << 20;

crate::op! {
    /// y = data, then y\[places\[i\], c\] ∘= updates\[order\[i\], c\] for each i, ∘ being the reduction; places are in
    /// order. A place that is outside and an order that names no update are left out. Partial reductions, of 128 and of
    /// 128² updates of one place, are those of `ScatterPartials` over the same operands, whose order then names every
    /// update once; they are taken instead of these.
    pub struct ScatterSorted {
        /// What becomes of an element and its updates.
        reduction: ScatterReduction = ScatterReduction::Set,
    }
}

impl OpDef for ScatterSorted {
    const OPERANDS: &'static [&'static str] = &["data", "places", "order", "updates", "first?", "second?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");
    const STEERS: &'static [&'static str] = &["places", "order"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = self.reduction.expect_dtype(cx, [0, 3])?;
        let [data, places, order, updates] = [cx.ty(0)?, cx.ty(1)?, cx.ty(2)?, cx.ty(3)?];
        for (i, rank) in [(0, 2), (1, 1), (2, 1), (3, 2)] {
            cx.expect_rank(i, rank)?;
        }
        cx.expect_dtype(1, &[DType::I32])?;
        cx.expect_dtype(2, &[DType::I32])?;
        cx.equal(&places.shape[0], &updates.shape[0], "places and updates")?;
        cx.equal(&order.shape[0], &updates.shape[0], "the order and updates")?;
        cx.equal(&data.shape[1], &updates.shape[1], "columns of data and of updates")?;
        self.expect_partials(cx, dtype)?;
        one(dtype, data.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let mut samples = sorted_samples(|g, [data, places, order, updates], reduction| {
            let plain = g.scatter_sorted([data, places, order, updates], [None, None], reduction);
            if reduction == ScatterReduction::Set {
                return Some(plain);
            }
            let first = g.scatter_partials(places, updates, Some(order), reduction, 1);
            let second = g.scatter_partials(places, first, None, reduction, CHUNK as i64);
            g.output(
                "first",
                g.scatter_sorted([data, places, order, updates], [Some(first), None], reduction),
            );
            Some(g.scatter_sorted([data, places, order, updates], [Some(first), Some(second)], reduction))
        });
        samples.extend(steered_samples(|g, [data, places, order, updates]| {
            g.scatter_sorted([data, places, order, updates], [None, None], ScatterReduction::Add)
        }));
        samples
    }

    fn moves_bits(&self) -> bool {
        self.reduction == ScatterReduction::Set
    }
}

impl ScatterSorted {
    fn expect_partials(&self, cx: &Infer<'_>, dtype: DType) -> Result<(), OpError> {
        let (data, updates) = (cx.ty(0)?, cx.ty(3)?);
        let mut rows = updates.shape[0].clone();
        for i in 4..cx.len() {
            let Some(partials) = cx.opt(i) else { continue };
            if i == 5 && cx.opt(4).is_none() || self.reduction == ScatterReduction::Set {
                return Err(OpError::Invalid("it has partial reductions of none".into()));
            }
            cx.expect_rank(i, 2)?;
            cx.expect_dtype(i, &[if dtype.is_float() { DType::F32 } else { dtype }])?;
            rows = rows.ceil_div(&CHUNK.into());
            cx.equal(&partials.shape[0], &rows, "partial reductions and their rows")?;
            cx.equal(&partials.shape[1], &data.shape[1], "columns of data and of partial reductions")?;
        }
        Ok(())
    }
}

/// Samples of places, which are in order, and of an order at their extremes; `build` gives a result.
pub(super) fn steered_samples(build: impl Fn(&GraphBuilder, [Value; 4]) -> Value) -> Vec<Sample> {
    let graph = |g: &GraphBuilder, steer: Value, count: i32, steers_order: bool| {
        let numbers: Vec<i32> = (0..count).collect();
        let numbers = g.constant(Tensor::new(&numbers, &[count as u64]).expect("one each"));
        let steer = g.reshape(steer, &[i64::from(count)]);
        let [places, order] = if steers_order { [numbers, steer] } else { [steer, numbers] };
        let data = g.param("data", tensor(DType::F32, [5, 3]));
        let updates = g.input("updates", tensor(DType::F32, [count as u64, 3]));
        g.output("y", build(g, [data, places, order, updates]));
    };
    let mut samples = Vec::new();
    for (steers_order, what) in [(false, "places in order"), (true, "an order")] {
        let one = |g: &GraphBuilder, steer| graph(g, steer, 1, steers_order);
        samples.extend(steering_samples(what, 5, |_| false, one));
        let list = |g: &GraphBuilder, steer| graph(g, steer, 7, steers_order);
        samples.push(steering_list(what, DType::I32, 5, &[7], list));
    }
    samples
}

/// Samples of data, places that are in order, an order and updates; `build` gives a result.
pub(super) fn sorted_samples(
    build: impl Fn(&GraphBuilder, [Value; 4], ScatterReduction) -> Option<Value>,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut case = |d: DType, [n, u, inner]: [u64; 3], index_of: &dyn Fn(u64) -> u64, reduction| {
        let places: Vec<i32> = (0..u).map(|i| index_of(i) as i32).collect();
        let mut order: Vec<i32> = (0..u as i32).rev().collect();
        // Some that name no update.
        order.iter_mut().zip(extremes(u as i64)).skip(1).step_by(2).for_each(|(o, v)| *o = v as i32);
        let mut empty = true;
        let label =
            format!("{d} [{n}, {inner}] and {u} updates {reduction:?} at {:?}", places.get(u as usize / 2));
        let sample = Sample::graph(&label, |g| {
            let constant = |v: &[i32]| g.constant(Tensor::new(v, &[u]).expect("one each"));
            let data = g.input("data", tensor(d, [n, inner]));
            let updates = g.input("updates", tensor(d, [u, inner]));
            if let Some(y) = build(g, [data, constant(&places), constant(&order), updates], reduction) {
                g.output("y", y);
                empty = false;
            }
        });
        let fill = match reduction {
            ScatterReduction::Set => Fill::Any,
            ScatterReduction::Mul => Fill::Floats(vec![1.0, 1.0, -1.0, 1.0, 0.5, 1.0, 2.0, 1.0]),
            ScatterReduction::Max | ScatterReduction::Min => Fill::Special,
            ScatterReduction::Add => Fill::Normal,
        };
        if !empty {
            samples.push(sample.fill("data", fill.clone()).fill("updates", fill));
        }
    };
    let takes = |d: DType, r: ScatterReduction| d != DType::Bool || r == ScatterReduction::Set;
    for (d, r) in DType::ALL.into_iter().flat_map(|d| ScatterReduction::ALL.map(|r| (d, r))) {
        if takes(d, r) {
            case(d, [5, 300, 3], &|i| i / 140, r);
        }
    }
    for r in ScatterReduction::ALL {
        case(DType::F32, [3, 17_000, 1], &|_| 1, r);
        case(DType::F32, [9, 33_000, 2], &|i| (i + 100) / 16_600, r);
    }
    let add = ScatterReduction::Add;
    case(DType::F32, [700, 500, 5], &|i| i * i % 3 + 3 * (i / 3), add);
    case(DType::F32, [1, 1, 1], &|_| 0, add);
    case(DType::F32, [4, 0, 3], &|_| 0, add);
    case(DType::F32, [300, 129, 65], &|i| 2 * i, add);
    samples
}

/// The patch that makes a scatter of many updates of one that sorts them: where they go, in order, those of one place
/// side by side. Its cost is that of the sort, whatever place they go to. Data are `all` places of `inner` elements.
pub(super) fn expand(
    op: ScatterPlaces,
    reduction: ScatterReduction,
    [all, inner]: [DimExpr; 2],
    graph: &Graph,
    id: NodeId,
) -> Option<Patch> {
    let node = graph.node(id);
    let [data, indices, updates] = [node.input(0)?, node.input(1)?, node.input(2)?];
    let (shape, indexed) = (graph.ty(data).shape.to_vec(), graph.ty(indices).shape.to_vec());
    let tuple = if op.elements { indexed.len() } else { indexed.len() - 1 };
    let count = product(&indexed[..tuple]);
    let upper = |d: &DimExpr| d.upper(graph.symbols());
    let many = upper(&count);
    let line = if op.elements { upper(&indexed[normalize_axis(op.axis, indexed.len()).ok()?]) } else { many };
    let listed = !op.elements && reduces_floats(graph.ty(data).dtype(), reduction);
    let plain = is_looked_at(line, upper(&product(&shape)), listed);
    // What has more than kernels count is refused as it is.
    if plain || many > 1 << 31 || shape.iter().any(|d| d.is(0)) {
        return None;
    }
    let mut scatter = Scatter { patch: expansion(graph, id), name: graph.node_name(id), reduction };
    let order = scatter.order(op, PatchRef::Old(indices), count.clone());
    let rows = scatter.add("rows", Reshape { shape: vec![all, inner.clone()] }, &[PatchRef::Old(data)]);
    let updates = scatter.add("updates", Reshape { shape: vec![count, inner] }, &[PatchRef::Old(updates)]);
    let y = scatter.reduced(rows, order, updates, many);
    let y = scatter.patch.add(Reshape { shape }, scatter.name, &[y]);
    scatter.patch.replace(node.output(), y);
    Some(scatter.patch)
}

/// Whether so many elements look at `line` updates each, or groups of them do, which list their own.
fn is_looked_at(line: u64, elements: u64, listed: bool) -> bool {
    let looks = line.saturating_mul(elements);
    let by_groups = listed && line <= LISTED && looks <= LISTED_LOOKS && elements <= LISTED_ELEMENTS;
    line <= FEWEST || line <= FEW && looks <= LOOKS || by_groups
}

fn reduces_floats(dtype: DType, reduction: ScatterReduction) -> bool {
    dtype.is_float() && reduction != ScatterReduction::Set
}

/// A scatter as far as it is made.
struct Scatter<'g> {
    patch: Patch,
    name: &'g str,
    reduction: ScatterReduction,
}

impl Scatter<'_> {
    fn add(&mut self, what: &str, op: impl Into<Op>, inputs: &[PatchRef]) -> PatchRef {
        self.patch.add(op, format!("{}.{what}", self.name), inputs)
    }

    /// The places of updates in order, and which updates they are.
    fn order(&mut self, op: ScatterPlaces, indices: PatchRef, count: DimExpr) -> [PatchRef; 2] {
        let places = self.add("places", op, &[indices]);
        let by_place = ArgTopK { axis: 0, k: count, largest: false, index_dtype: DType::I32 };
        let order = self.add("order", by_place, &[places]);
        [self.add("sorted", GatherElements { axis: 0 }, &[places, order]), order]
    }

    /// Data with at most `many` updates, of which those of one place are reduced side by side first.
    fn reduced(
        &mut self,
        data: PatchRef,
        [places, order]: [PatchRef; 2],
        updates: PatchRef,
        many: u64,
    ) -> PatchRef {
        let reduction = self.reduction;
        let reduces = reduction != ScatterReduction::Set;
        let first = reduces.then(|| self.partials(vec![Some(places), Some(updates), Some(order)], 1));
        let second = first
            .filter(|_| many > CHUNK * CHUNK)
            .map(|first| self.partials(vec![Some(places), Some(first), None], CHUNK as i64));
        let inputs = vec![Some(data), Some(places), Some(order), Some(updates), first, second];
        self.patch.add_opt(ScatterSorted { reduction }, format!("{}.scattered", self.name), inputs)
    }

    fn partials(&mut self, inputs: Vec<Option<PatchRef>>, span: i64) -> PatchRef {
        let op = ScatterPartials { reduction: self.reduction, span };
        self.patch.add_opt(op, format!("{}.partials", self.name), inputs)
    }
}

impl GraphBuilder {
    /// Updates whose places are in order: data\[n, c\], places and order i32\[u\], updates\[u, c\], partial reductions
    /// or none → data's type. For scatters see [`scatter_nd`](crate::GraphBuilder::scatter_nd).
    #[track_caller]
    pub fn scatter_sorted(
        &self,
        operands: [Value; 4],
        partials: [Option<Value>; 2],
        reduction: ScatterReduction,
    ) -> Value {
        let operands: Vec<Option<Value>> = operands.into_iter().map(Some).chain(partials).collect();
        self.apply_all(ScatterSorted { reduction }, &operands)[0]
    }
}
