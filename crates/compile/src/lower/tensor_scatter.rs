//! A cache with new rows in it, as a tensor of its own.

use super::in_place::{self, Reads};
use super::{Lower, kv_append};
use crate::cx::{LowerCx, LowerResult};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::ops::{TensorScatter, kv_append::AppendMode};
use pumice_ir::{NodeId, ValueId};
use pumice_plan::kernel::{ArgValue, Bound};
use pumice_plan::kernels::kv::TensorScatter as Kernel;
use pumice_types::{DType, DimExpr};

impl Lower for TensorScatter {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let cache = cx.dense(node.input(0).ok_or("it has no cache")?)?;
        let update = cx.dense(node.input(1).ok_or("it has no rows")?)?;
        let axis = cache.axis(self.axis)?;
        // Every invocation may read any position.
        let positions = node.input(2).map(|pos| cx.at(pos)).transpose()?;
        let mut shared: Vec<&PlacedView> = positions.iter().chain([&update]).collect();
        let own = match rows_alone(cx, id, &cache) {
            true => std::slice::from_ref(&cache),
            false => {
                shared.push(&cache);
                &[]
            }
        };
        let reads = Reads { own, shared: &shared };
        let y = in_place::result(cx, id, reads)?;
        if y.is_empty() {
            return Ok(());
        }
        if cx.follows_on(&y, &cache) {
            return kv_append::put_rows(cx, id, update, [&cache, &y], (axis, self.mode));
        }
        let space = Rows::of(&cache.view.shape, axis..axis + 1);
        let inner = &space.inner * DimExpr::from(cache.words_of_element());
        let put = Put { rows: update.view.shape[axis].clone(), inner, space, mode: self.mode };
        put.emit(cx, id, [&cache, &update, &y])
    }
}

/// Whether the rows alone can be written where the cache lies: elements of a word each, at places of 32 bits.
fn rows_alone(cx: &LowerCx<'_>, id: NodeId, cache: &PlacedView) -> bool {
    let i32s = |pos| cx.graph.ty(pos).dtype() == DType::I32;
    let words = matches!(cache.view.dtype, DType::F32 | DType::I32 | DType::U32);
    words && cx.graph.node(id).input(2).is_some_and(i32s)
}

/// Rows that are put into others.
struct Put {
    /// The cache as \[outer, capacity, inner\].
    space: Rows,
    rows: DimExpr,
    /// Words of a row.
    inner: DimExpr,
    mode: AppendMode,
}

impl Put {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId, [cache, update, y]: [&PlacedView; 3]) -> LowerResult {
        let (space, inner) = (&self.space, &self.inner);
        let all = &space.outer * &space.n * inner;
        cx.fits_u32(&all, "the words of the cache")?;
        cx.fits_u32(&(&space.outer * &self.rows * inner), "the words of the rows")?;
        let mut step = StepBuilder::new();
        let x = step.read(1, update);
        let positions = Positions::of(
            cx,
            &mut step,
            cx.graph.node(id).input(2),
            (&x, &space.outer, &cache.view.shape[0]),
        )?;
        let number = cx.status_number();
        let call = Kernel {
            variant: Kernel::plain,
            mode: u32::from(self.mode == AppendMode::Circular),
            source: positions.source,
            outer: cx.arg(&space.outer),
            rows: cx.arg(&self.rows),
            inner: cx.arg(inner),
            capacity: cx.arg(&space.n),
            pos: positions.known.as_ref().map_or(ArgValue::ZERO, |e| cx.arg(e)),
            pos_div: cx.arg(&positions.rows_of_one),
            op: ArgValue::U32(number),
            data: step.read(0, cache),
            x,
            positions: positions.bound,
            y: step.write(y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &all.ceil_div(&256.into()))
    }
}

/// Where rows are put.
struct Positions {
    /// One that the frame knows; none at all is 0.
    known: Option<DimExpr>,
    /// How the kernel reads others: not, i32, i64.
    source: u32,
    bound: Bound,
    /// Rows of all of `outer` that share a position.
    rows_of_one: DimExpr,
}

impl Positions {
    /// Positions that are read, or what is bound in their place.
    fn of(
        cx: &mut LowerCx<'_>,
        step: &mut StepBuilder,
        pos: Option<ValueId>,
        (instead, outer, batch): (&Bound, &DimExpr, &DimExpr),
    ) -> LowerResult<Positions> {
        let (mut source, mut bound) = (0, instead.unread());
        let Some(pos) = pos else {
            let known = Some(DimExpr::constant(0));
            return Ok(Positions { known, source, bound, rows_of_one: outer.clone() });
        };
        // A constant of more than 32 bits is read, and found to be past the end.
        let fits = |e: &DimExpr| e.as_const().is_none_or(|pos| i32::try_from(pos).is_ok());
        let known = cx.scalar_value(pos).filter(fits);
        let at = if known.is_some() { cx.at(pos)? } else { cx.dense(pos)? };
        let read = step.read(2, &at);
        if known.is_none() {
            source = if at.view.dtype.arena_bytes() == 8 { 2 } else { 1 };
            bound = read;
        }
        let batch = if at.view.shape.is_empty() { 1.into() } else { batch.clone() };
        let rows_of_one = outer.exact_quotient(&batch).ok_or("positions do not divide the batch")?;
        Ok(Positions { known, source, bound, rows_of_one })
    }
}
