//! Products with few results and many terms are cut along k (split-K), so that the whole device works on them.
//!
//! `MatMul`: a·b == Σ_p a_p·b_p, where a_p and b_p are the p-th of s equal ranges of k. The parts are one batched product of views,
//! \[s, …, m, n\], and its slices are added in order. Where a norm reads the sum, `fuse_residual_norms` adds them while it
//! loads, and cutting costs no level; else `form_elementwise_regions` puts the additions into one step with what follows.
//!
//! Left alone: products of fewer than 64 terms a part, of a k that varies or has no divisor that keeps rows aligned, with
//! results that are rounded (each part would be), with vector operands, or known when loading; and whatever
//! [`Advice`](crate::Advice) finds fast enough. Of a `Dequantize` the blocks count, because kernels read them. The order of summation changes, so values agree within the tolerance of
//! MatMul.

use crate::pipeline::PassCx;
use crate::rewrite::{Facts, norm, stored};
use pumice_ir::ops::{Add, MatMul, Reshape, Slice, Transpose};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr, Encoding, ProductExtents};

/// Numbers of parts that are considered.
const PARTS: [u64; 7] = [2, 3, 4, 6, 8, 12, 16];
/// Parts at most where a step of its own adds them: an elementwise step has slots for these and an epilogue.
const MOST: u64 = 8;
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
    y: ValueId,
    k: u64,
}

impl<'g> Product<'g> {
    fn of(graph: &Graph, node: &Node, op: &'g MatMul) -> Option<Product<'g>> {
        let (a, b, y) = (node.input(0)?, node.input(1)?, node.output());
        if graph.ty(y).dtype() != DType::F32 {
            return None;
        }
        let k = extent(graph, a, op.trans_a)?;
        // Where the two are equal by a condition of the graph alone, the other has no ranges of a known size.
        (extent(graph, b, !op.trans_b)? == k).then_some(Product { op, a, b, y, k })
    }

    /// How many parts pay; `None` for one.
    fn parts(&self, graph: &Graph, facts: &Facts, cx: &PassCx<'_>) -> Option<u64> {
        let room = norm::room(graph, facts, self.y);
        let most = room.map_or(MOST, |slots| slots as u64);
        let block = self.stored(graph).block().0;
        let whole = |s: &u64| self.k.is_multiple_of(4 * s) && (self.k / s).is_multiple_of(block);
        let fits = |s: &u64| *s <= most && whole(s) && self.k / s >= TERMS;
        let allowed: Vec<u64> = std::iter::once(1).chain(PARTS.into_iter().filter(fits)).collect();
        let parts = cx.advice.product_parts(&self.extents(graph, cx), &allowed, room.is_some());
        (parts > 1 && allowed.contains(&parts)).then_some(parts)
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
            b_words: self.stored(graph) == DType::F32,
            b_blocks: self.stored(graph).scheme().is_some(),
        }
    }

    /// How the right operand is stored: what lies in blocks is read through its dequantize, a block at a time.
    fn stored(&self, graph: &Graph) -> Encoding {
        stored(graph, self.b)
    }

    fn patch(&self, graph: &Graph, id: NodeId, parts: u64) -> Patch {
        let name = graph.node_name(id);
        let mut patch = Patch::new(format!("cut {name} into {parts} parts along k"));
        let a = self.cut(graph, &mut patch, self.a, self.op.trans_a, parts, &format!("{name}.a"));
        let b = self.cut(graph, &mut patch, self.b, !self.op.trans_b, parts, &format!("{name}.b"));
        let products = patch.add(self.op.clone(), format!("{name}.parts"), &[a, b]);
        let shape = &graph.ty(self.y).shape;
        let mut part = |i: u64| {
            let (starts, ends) = (vec![DimExpr::from(i)], vec![DimExpr::from(i + 1)]);
            let slice = Slice { starts, ends, axes: vec![0], steps: Vec::new(), exact: false };
            let one = patch.add(slice, format!("{name}.part.{i}.one"), &[products]);
            patch.add(Reshape { shape: shape.clone() }, format!("{name}.part.{i}"), &[one])
        };
        let all: Vec<PatchRef> = (0..parts).map(&mut part).collect();
        let mut sum = all[0];
        for (i, &next) in all.iter().enumerate().skip(1) {
            let last = i + 1 == all.len();
            let label = if last { name.to_owned() } else { format!("{name}.sum.{i}") };
            sum = patch.add(Add {}, label, &[sum, next]);
        }
        patch.replace(self.y, sum);
        patch
    }

    /// An operand with its ranges of k as the outermost axis, at the rank of the result and one more. `k_first`: k is
    /// the axis before the last.
    fn cut(
        &self,
        graph: &Graph,
        patch: &mut Patch,
        v: ValueId,
        k_first: bool,
        parts: u64,
        name: &str,
    ) -> PatchRef {
        let rank = graph.ty(self.y).rank();
        let own = &graph.ty(v).shape;
        let mut shape = vec![DimExpr::constant(1); rank - own.len()];
        shape.extend_from_slice(own);
        let k = rank - if k_first { 2 } else { 1 };
        shape[k] = DimExpr::from(self.k / parts);
        shape.insert(k, DimExpr::from(parts));
        let ranges = patch.add(Reshape { shape }, format!("{name}.ranges"), &[PatchRef::Old(v)]);
        let perm: Vec<i64> =
            std::iter::once(k as i64).chain((0..=rank as i64).filter(|&d| d != k as i64)).collect();
        patch.add(Transpose { perm }, name, &[ranges])
    }
}
