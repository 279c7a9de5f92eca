//! Products with few results and many terms are cut along k (split-K), so that the whole device works on them.
//!
//! `MatMul`: a·b == Σ_p a_p·b_p, where a_p and b_p are the p-th of s equal ranges of k. The parts are one batched
//! product of views, \[s, …, m, n\], and its slices are added in order. Where a norm reads the sum,
//! `fuse_prologues` has it add them while it loads, and cutting costs no level; else `fuse_elementwise` puts the
//! additions into one step with what follows.
//!
//! Many parts are added by a reduction instead. Where k has no divisor that keeps rows aligned, the parts are of equal
//! length all the same, and the few terms that remain are one more product.
//!
//! Left alone: products of fewer than 64 terms a part, of a k that varies, short ones (below 4096) whose k has no such
//! divisor, with results that are rounded (each part would be), with vector operands, or known when loading; and
//! whatever [`CostModel`](crate::CostModel) finds fast enough. Of a `Dequantize` the blocks count, because kernels read
//! them. The order of summation changes, so values agree within the tolerance of MatMul.

use crate::pipeline::PassCx;
use crate::rewrite::{Facts, Parts, range_of, stored};
use pumice_ir::ops::{Add, MatMul, ReduceSum, Reshape, Transpose};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr, Encoding, EncodingClass, ProductExtents};

/// Numbers of parts that are considered.
const PARTS: [u64; 14] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];
/// Parts at most that an elementwise step adds: it has slots for these and an epilogue. More are added by a reduction.
const MOST: u64 = 8;
/// Terms of a product at least whose parts may leave some.
const LONG: u64 = 4096;
/// Terms of a part at least.
const TERMS: u64 = 64;

/// One patch for every product that is cut.
pub fn split_products(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let split = |(id, node): (NodeId, &Node)| match &node.op {
        Op::MatMul(op) if !facts.is_load_time(id) => {
            let product = Product::of(graph, node, op)?;
            let parts = product.parts(graph, &facts, cx)?;
            Some(product.patch(graph, id, parts))
        }
        _ => None,
    };
    graph.nodes().filter_map(split).collect()
}

/// The extent of k in an operand of rank 2 or more, where it is known. `first`: k is the axis before the last.
fn extent(graph: &Graph, v: ValueId, first: bool) -> Option<u64> {
    let shape = &graph.ty(v).shape;
    let axis = shape.len().checked_sub(if first { 2 } else { 1 }).filter(|_| shape.len() >= 2)?;
    u64::try_from(shape[axis].as_const()?).ok()
}

/// A product of matrices whose k is known.
struct Product<'g> {
    op: &'g MatMul,
    a: ValueId,
    b: ValueId,
    /// How the right operand is stored: what lies in blocks is read through its dequantize, a block at a time.
    b_stored: Encoding,
    y: ValueId,
    k: u64,
}

impl<'g> Product<'g> {
    fn of(graph: &Graph, node: &Node, op: &'g MatMul) -> Option<Product<'g>> {
        let (a, b, y) = (node.input(0)?, node.input(1)?, node.output());
        // Codes are read where they lie, as a whole.
        if graph.ty(y).dtype() != DType::F32 || graph.def(b).op.is_scaling() {
            return None;
        }
        let k = extent(graph, a, op.trans_a)?;
        // Where the two are equal by a condition of the graph alone, the other has no ranges of a known size.
        (extent(graph, b, !op.trans_b)? == k).then(|| Product { op, a, b, b_stored: stored(graph, b), y, k })
    }

    /// How many parts pay; `None` for one.
    fn parts(&self, graph: &Graph, facts: &Facts, cx: &PassCx<'_>) -> Option<Parts> {
        let capacity = cx.cost_model.addends(graph, facts, self.y);
        let most = capacity.map_or(u64::MAX, |slots| slots as u64);
        let step = self.b_stored.block().0.max(4);
        let step = if step.is_multiple_of(4) { step } else { 4 * step };
        let part = |count: u64| Parts { count, len: self.k / count / step * step };
        let whole = |s: u64| part(s).elements() == self.k;
        // Terms that remain cost a product more.
        let divides = PARTS.into_iter().any(|s| s > MOST && whole(s));
        let may_leave = capacity.is_none() && self.k >= LONG && !divides;
        let fits = |s: &u64| *s <= most && part(*s).len >= TERMS && (whole(*s) || may_leave);
        let allowed: Vec<u64> = std::iter::once(1).chain(PARTS.into_iter().filter(fits)).collect();
        let parts = cx.cost_model.product_parts(&self.extents(graph, cx), &allowed, capacity.is_some());
        (parts > 1 && allowed.contains(&parts)).then(|| part(parts))
    }

    fn extents(&self, graph: &Graph, cx: &PassCx<'_>) -> ProductExtents {
        let symbols = cx.symbols(graph);
        let up = |d: &DimExpr| d.upper(symbols).max(1);
        let (y, b) = (&graph.ty(self.y).shape, graph.ty(self.b));
        let (batch, matrix) = y.split_at(y.len() - 2);
        let batches = batch.iter().map(up).fold(1, u64::saturating_mul);
        let one_b = b.shape[..b.rank() - 2].iter().all(|d| d.is(1));
        ProductExtents {
            m: if one_b { up(&matrix[0]).saturating_mul(batches) } else { up(&matrix[0]) },
            n: up(&matrix[1]),
            k: self.k,
            batches: if one_b { 1 } else { batches },
            b_along_k: self.op.trans_b,
            b_stored: EncodingClass::of(self.b_stored),
            precision: self.op.rounding.precision(),
        }
    }

    fn patch(&self, graph: &Graph, id: NodeId, parts: Parts) -> Patch {
        let name = graph.node_name(id);
        let mut patch = Patch::new(format!("cut {name} into {} parts along k", parts.count));
        let (a_first, b_first) = (self.op.trans_a, !self.op.trans_b);
        let a = self.cut(graph, &mut patch, (self.a, a_first), parts, &format!("{name}.a"));
        let b = self.cut(graph, &mut patch, (self.b, b_first), parts, &format!("{name}.b"));
        let products = patch.add(self.op.clone(), format!("{name}.parts"), &[a, b]);
        let mut all = match parts.count <= MOST {
            true => self.slices(graph, &mut patch, products, parts.count, name),
            false => vec![self.reduced(&mut patch, products, name, parts.elements() == self.k)],
        };
        if parts.elements() < self.k {
            let range = parts.elements()..self.k;
            let a =
                slice_k(graph, &mut patch, (self.a, a_first), range.clone(), format!("{name}.a.remaining"));
            let b = slice_k(graph, &mut patch, (self.b, b_first), range, format!("{name}.b.remaining"));
            all.push(patch.add(self.op.clone(), format!("{name}.remaining"), &[a, b]));
        }
        let mut sum = all[0];
        for (i, &next) in all.iter().enumerate().skip(1) {
            let last = i + 1 == all.len();
            let label = if last { name.to_owned() } else { format!("{name}.sum.{i}") };
            sum = patch.add(Add {}, label, &[sum, next]);
        }
        patch.replace(self.y, sum);
        patch
    }

    /// Each part of the batched product by itself.
    fn slices(
        &self,
        graph: &Graph,
        patch: &mut Patch,
        products: PatchRef,
        count: u64,
        name: &str,
    ) -> Vec<PatchRef> {
        let shape = &graph.ty(self.y).shape;
        let mut part = |i: u64| {
            let one = patch.add(range_of(0, i..i + 1), format!("{name}.part.{i}.one"), &[products]);
            patch.add(Reshape { shape: shape.to_vec() }, format!("{name}.part.{i}"), &[one])
        };
        (0..count).map(&mut part).collect()
    }

    /// The sum of all parts of the batched product.
    fn reduced(&self, patch: &mut Patch, products: PatchRef, name: &str, all: bool) -> PatchRef {
        let sum = ReduceSum { axes: vec![0], keepdims: false, noop_with_empty_axes: false };
        let label = if all { name.to_owned() } else { format!("{name}.sum") };
        patch.add(sum, label, &[products])
    }

    /// An operand with its ranges of k as the outermost axis, at the rank of the result and one more. With each operand
    /// comes whether k is its axis before the last.
    fn cut(
        &self,
        graph: &Graph,
        patch: &mut Patch,
        (v, k_first): (ValueId, bool),
        parts: Parts,
        name: &str,
    ) -> PatchRef {
        let rank = graph.ty(self.y).rank();
        let own = &graph.ty(v).shape;
        let mut shape = vec![DimExpr::constant(1); rank - own.len()];
        shape.extend_from_slice(own);
        let k = rank - if k_first { 2 } else { 1 };
        shape[k] = DimExpr::from(parts.len);
        shape.insert(k, DimExpr::from(parts.count));
        let whole = match parts.elements() == self.k {
            true => PatchRef::Old(v),
            false => slice_k(graph, patch, (v, k_first), 0..parts.elements(), format!("{name}.first")),
        };
        let ranges = patch.add(Reshape { shape }, format!("{name}.ranges"), &[whole]);
        let perm: Vec<i64> =
            std::iter::once(k as i64).chain((0..=rank as i64).filter(|&d| d != k as i64)).collect();
        patch.add(Transpose { perm }, name, &[ranges])
    }
}

/// A range of k of an operand; `k_first`: k is the axis before the last.
fn slice_k(
    graph: &Graph,
    patch: &mut Patch,
    (v, k_first): (ValueId, bool),
    range: std::ops::Range<u64>,
    name: String,
) -> PatchRef {
    let axis = graph.ty(v).rank() - if k_first { 2 } else { 1 };
    patch.add(range_of(axis as i64, range), name, &[PatchRef::Old(v)])
}
