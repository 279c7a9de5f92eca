//! Rows by experts: each row alone, or by the tiles of each expert's rows where a step before says which these are.

use super::Lower;
use super::matmul::typed_operand;
use crate::cost;
use crate::cx::{LowerCx, LowerResult};
use crate::product::{self, Matrices};
use crate::rows::rounding;
use crate::select::experts::ExpertExtents;
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::GroupedMatMul;
use pumice_ir::ops::grouped_matmul::rows_of;
use pumice_ir::shape::product as elements;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, FloatStorage};
use pumice_plan::kernels::experts::{GroupedMatmul, GroupedMatmulTile};
use pumice_types::{DimExpr, Precision};

impl Lower for GroupedMatMul {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let [x, w, ids] = [0, 1, 2].map(|i| node.input(i).ok_or("it has no such operand"));
        let (x, w, ids) = (cx.dense(x?)?, cx.stored(w?)?, cx.dense(ids?)?);
        let w = typed_operand(cx, &w, self.trans)?;
        let order = match node.input(3) {
            Some(_) => Some(cx.dense(rows_of(cx.graph, id).ok_or("its rows are those of other ids")?)?),
            None => None,
        };
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        for (at, what) in [(&x, "the rows"), (&w, "the experts"), (&y, "the result")] {
            cx.fits_u32(&elements(&at.view.shape), what)?;
        }
        let experts = Experts::of(self, &w, &ids);
        match order {
            Some(order) => experts.together(cx, id, [&x, &w, &ids, &order, &y]),
            None => experts.alone(cx, id, [&x, &w, &ids, &y]),
        }
    }
}

/// Extents, and the matrices of the experts.
struct Experts<'a> {
    op: &'a GroupedMatMul,
    rows: DimExpr,
    picks: DimExpr,
    experts: DimExpr,
    k: DimExpr,
    n: DimExpr,
    /// The batch axes are that of the experts and none.
    matrices: Matrices,
}

impl<'a> Experts<'a> {
    fn of(op: &'a GroupedMatMul, w: &PlacedView, ids: &PlacedView) -> Experts<'a> {
        let (shape, strides) = (&w.view.shape, &w.view.strides);
        let (k, n) = if op.trans { (2, 1) } else { (1, 2) };
        let one = || DimExpr::constant(1);
        Experts {
            op,
            rows: elements(&ids.view.shape),
            picks: ids.view.shape.get(1).cloned().unwrap_or_else(one),
            experts: shape[0].clone(),
            k: shape[k].clone(),
            n: shape[n].clone(),
            matrices: Matrices {
                at: w.view.offset.clone(),
                batch: [strides[0].clone(), DimExpr::constant(0)],
                row: strides[k].clone(),
                col: strides[n].clone(),
            },
        }
    }

    /// How operands are read and the result is stored: `a_mode`, `b_mode`, `vec_y`.
    fn modes(&self, cx: &LowerCx<'_>) -> [u32; 3] {
        let b = &self.matrices;
        let b_mode = product::mode(cx, b, [&b.row, &b.col], [&self.k, &self.n]);
        [u32::from(cx.by_four(&self.k)), b_mode, u32::from(cx.by_four(&self.n))]
    }

    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let two = DimExpr::constant(2);
        cost::product([&two, &self.rows, &self.n, &self.k], cx.graph.symbols())
    }

    /// Elements of the experts that are read at most: those of as many as there are rows, or of all.
    fn read(&self) -> DimExpr {
        self.rows.min_with(&self.experts) * &self.k * &self.n
    }

    /// A step that reads rows, experts and ids, and these.
    fn bound(
        &self,
        cx: &LowerCx<'_>,
        precision: Precision,
        [x, w, ids]: [&PlacedView; 3],
    ) -> (StepBuilder, [Bound; 3]) {
        let mut step = StepBuilder::new();
        let (a, b) = (step.read(0, x), step.read(1, w));
        step.reads_only(&b, self.read());
        step.flops(self.flops(cx), precision);
        let Matrices { batch: [e, _], row, col, .. } = self.matrices.clone();
        let id = step.read(2, ids);
        (step, [a, b.along([e, row, col]), id])
    }

    /// Every row by itself.
    fn alone(&self, cx: &mut LowerCx<'_>, id: NodeId, [x, w, ids, y]: [&PlacedView; 4]) -> LowerResult {
        let number = cx.status_number();
        let (mut step, [a, b, id_of]) = self.bound(cx, Precision::Exact, [x, w, ids]);
        let [a_mode, b_mode, vec_y] = self.modes(cx);
        let call = GroupedMatmul {
            variant: GroupedMatmul::plain,
            a_mode,
            b_mode,
            vec_y,
            round: product::round(self.op.rounding),
            rows: cx.arg(&self.rows),
            n: cx.arg(&self.n),
            k: cx.arg(&self.k),
            experts: cx.arg(&self.experts),
            picks: cx.arg(&self.picks),
            op: ArgValue::U32(number),
            a,
            b,
            id: id_of,
            y: step.write(y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: rounding(y.view.dtype, "epilogue")?,
        };
        let groups = &self.rows * self.n.ceil_div(&DimExpr::constant(4));
        step.dispatch_node(cx, id, call.into_call(), &groups)
    }

    /// The rows of each expert together.
    fn together(
        &self,
        cx: &mut LowerCx<'_>,
        id: NodeId,
        [x, w, ids, order, y]: [&PlacedView; 5],
    ) -> LowerResult {
        let choice = self.choose(cx, w).ok_or(NO_KERNEL)?;
        let number = cx.status_number();
        let (mut step, [a, b, id_of]) = self.bound(cx, choice.roles.precision, [x, w, ids]);
        let (order, to) = (step.read(3, order), step.write(y));
        let status = step.status(cx, number);
        let call = self.tile(cx, &choice, number, [a, b, id_of, order, to, status]);
        let call = call.holes(Vec::new(), rounding(y.view.dtype, "epilogue")?);
        step.dispatch_node(cx, id, call, &self.tiles(&choice))
    }

    /// The call of a tile.
    fn tile(
        &self,
        cx: &mut LowerCx<'_>,
        choice: &Choice,
        number: u32,
        [a, b, id, order, y, status]: [Bound; 6],
    ) -> CallBuilder {
        let [a_mode, b_mode, vec_y] = self.modes(cx);
        let [k_tail, _] = product::tails(cx, &choice.roles, [&self.rows, &self.n, &self.k]);
        let call = GroupedMatmulTile {
            variant: choice.variant.name,
            a_mode,
            b_mode,
            vec_y,
            k_tail,
            edge: 1,
            round: product::round(self.op.rounding),
            rows: cx.arg(&self.rows),
            n: cx.arg(&self.n),
            k: cx.arg(&self.k),
            experts: cx.arg(&self.experts),
            picks: cx.arg(&self.picks),
            op: ArgValue::U32(number),
            a,
            b,
            id,
            order,
            y,
            status,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        call.into_call()
    }

    fn tiles(&self, choice: &Choice) -> DimExpr {
        let [rows, columns] = [choice.roles.rows, choice.roles.columns].map(DimExpr::from);
        let of_rows = self.rows.ceil_div(&rows) + &self.experts + DimExpr::constant(1);
        of_rows * self.n.ceil_div(&columns)
    }

    /// The tile, by the upper bounds of the extents.
    fn choose(&self, cx: &LowerCx<'_>, w: &PlacedView) -> Option<Choice> {
        let up = |d: &DimExpr| d.upper(cx.graph.symbols()).max(1);
        let extents = ExpertExtents {
            rows: up(&self.rows),
            experts: up(&self.experts),
            n: up(&self.n),
            k: up(&self.k),
            stored: FloatStorage::of(&w.view).class(),
            precision: self.op.rounding.precision(),
        };
        cx.selection.experts.choose(&extents, cx.target)
    }
}
