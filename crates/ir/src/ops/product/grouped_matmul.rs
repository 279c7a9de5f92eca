//! `GroupedMatMul`: rows by experts, each row multiplied with the matrix that an index names.

use super::expert_rows::ExpertRows;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, NodeCx, Op, OpDef, Rounding, Untransposed};
use crate::sample::Sample;
use crate::shape::product;
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};

/// Rows that go one by one, however few experts there are.
const FEW: u64 = 64;
/// Rows for each expert from which on those of one expert are gathered first. A row alone reads a whole matrix; rows
/// together fill a tile, which costs what a full one does.
const ROWS_OF_EXPERT: u64 = 8;

crate::op! {
    /// y\[m\] = x\[m\]·w\[id\[m\]\]: x\[M, K\], w\[E, K, N\], id i32\[M\] → \[M, N\]; with id i32\[T, k\] and x\[T,
    /// K\], y\[t, j\] = x\[t\]·w\[id\[t, j\]\] → \[T, k, N\]. An id outside 0…E − 1 gives a row of zeros and reports
    /// INDEX_OUT_OF_RANGE at its place. f32 products and sums; K = 0 gives zeros.
    ///
    /// `rows` is nothing or `ExpertRows` of the same ids: where the rows of each expert are. It changes no value.
    pub struct GroupedMatMul {
        /// w is \[E, N, K\], which is how weights in blocks lie.
        trans: bool = false,
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
    }
}

impl Default for GroupedMatMul {
    fn default() -> GroupedMatMul {
        GroupedMatMul { trans: false, rounding: Rounding::None }
    }
}

impl OpDef for GroupedMatMul {
    const OPERANDS: &'static [&'static str] = &["x", "w", "id", "rows?"];
    const GRAD: Grad<Self> = Grad::No("rows are of the expert that each chose");
    const STEERS: &'static [&'static str] = &["id", "rows"];
    crate::rounds_factors!(2);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        cx.expect_rank(0, 2)?;
        cx.expect_rank(1, 3)?;
        cx.expect_dtype(2, &[DType::I32])?;
        let [x, w, id] = [cx.ty(0)?, cx.ty(1)?, cx.ty(2)?].map(|ty| &ty.shape);
        if !(1..=2).contains(&id.len()) {
            return Err(OpError::Rank { operand: "id", rank: id.len(), expected: "expected 1 or 2".into() });
        }
        let (k, n) = if self.trans { (&w[2], &w[1]) } else { (&w[1], &w[2]) };
        cx.equal(&x[1], k, "K of `x` and `w`")?;
        cx.equal(&x[0], &id[0], "rows of `x` and axis 0 of `id`")?;
        if let Some(picks) = id.get(1) {
            cx.constant_extent(picks, "experts of a row")?;
        }
        expect_rows(cx, id, &w[0])?;
        one(dtype, id.iter().chain([n]).cloned().collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        super::grouped_matmul_samples::samples()
    }

    /// With many rows, those of each expert are found first. `rows` of other ids say nothing.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let [x, w, ids] = [node.input(0)?, node.input(1)?, node.input(2)?];
        if node.input(3).is_some() && rows_of(graph, id).is_some() {
            return None;
        }
        let experts = graph.ty(w).shape[0].as_extent()?;
        let many = product(&graph.ty(ids).shape).upper(graph.symbols());
        let gathers = many > FEW && many / ROWS_OF_EXPERT >= experts && experts > 0 && many < 1 << 31;
        if !gathers && node.input(3).is_none() {
            return None;
        }
        let mut patch = expansion(graph, id);
        let rows = gathers.then(|| {
            let name = format!("{}.rows", graph.node_name(id));
            patch.add(ExpertRows { experts }, name, &[PatchRef::Old(flat(graph, ids))])
        });
        let operands = [x, w, ids].map(|v| Some(PatchRef::Old(v)));
        let y =
            patch.add_opt(self.clone(), graph.node_name(id), operands.into_iter().chain([rows]).collect());
        patch.replace(node.output(), y);
        Some(patch)
    }

    /// grouped_matmul(x, transpose(w), id) == grouped_matmul(x, w, id) with `trans` the other way round.
    fn untransposed(&self, cx: &NodeCx<'_>) -> Option<Untransposed> {
        let w = cx.exchanged(1, -2, -1)?;
        let op = GroupedMatMul { trans: !self.trans, ..self.clone() };
        Some(Untransposed { op: op.into(), operands: smallvec::smallvec![(1, w)], after: None })
    }
}

/// The operand `rows`, if it is there, has a number for each id and expert and one more.
fn expect_rows(cx: &Infer<'_>, id: &[DimExpr], experts: &DimExpr) -> Result<(), OpError> {
    let Some(rows) = cx.opt(3) else { return Ok(()) };
    cx.expect_dtype(3, &[DType::I32])?;
    cx.expect_rank(3, 1)?;
    let all = product(id) + experts + DimExpr::constant(1);
    cx.equal(&rows.shape[0], &all, "`rows`, and a number for each id and expert and one more")
}

/// A value before it was given another shape.
fn flat(graph: &Graph, mut v: ValueId) -> ValueId {
    while let (Op::Reshape(_), Some(from)) = (&graph.def(v).op, graph.def(v).input(0)) {
        v = from;
    }
    v
}

/// The operand `rows` of a node, where it is that of the node's own ids and experts.
pub fn rows_of(graph: &Graph, id: NodeId) -> Option<ValueId> {
    let node = graph.node(id);
    let rows = node.input(3)?;
    let Op::ExpertRows(op) = &graph.def(rows).op else { return None };
    let same_ids = flat(graph, graph.def(rows).input(0)?) == flat(graph, node.input(2)?);
    let same_experts = graph.ty(node.input(1)?).shape[0].as_extent() == Some(op.experts);
    (same_ids && same_experts).then_some(rows)
}

impl GraphBuilder {
    /// Rows by experts: y\[m\] = x\[m\]·w\[id\[m\]\]. x\[M, K\], w\[E, K, N\] (or \[E, N, K\] with `trans`) of one
    /// float dtype, id i32\[M\] → \[M, N\]; or with several experts for each row x\[T, K\], id i32\[T, k\] → \[T, k,
    /// N\]. No ONNX op; ggml `mul_mat_id`.
    ///
    /// An id outside 0…E − 1 gives a row of zeros and reports INDEX_OUT_OF_RANGE at its place. Experts in blocks are
    /// given as their `dequantize`, with `trans`; they are read where they lie, those that rows take. Ids stay on the
    /// device; a row of its own takes one step, many rows a step more that finds those of each expert.
    ///
    /// Mistakes: other ranks, ids that are not i32, extents that differ, a number of experts of a row that symbols
    /// decide.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::{GroupedMatMul, TopKMoeRouter};
    /// let g = GraphBuilder::new("g");
    /// let (x, logits) = (g.input("x", f32([16, 64])), g.input("logits", f32([16, 8])));
    /// let (_, experts) = g.top_k_moe_router(logits, None, TopKMoeRouter::default());
    /// let up = g.param("up", f32([8, 96, 64]));
    /// let y = g.grouped_matmul(x, up, experts, GroupedMatMul { trans: true, ..GroupedMatMul::default() });
    /// assert_eq!(g.dim_of(y, 1), 2.into());
    /// g.output("y", y);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn grouped_matmul(&self, x: Value, w: Value, id: Value, op: GroupedMatMul) -> Value {
        self.apply(op, &[x, w, id])
    }
}
