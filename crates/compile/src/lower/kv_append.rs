//! Rows appended to a state in place.

use super::leaf::{apart, next_version};
use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::{KvAppend, kv_append::AppendMode};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, FloatStorage};
use pumice_plan::kernels::kv::KvAppend as Kernel;
use pumice_types::{DType, DimExpr};

impl Lower for KvAppend {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let state = cx.at(node.input(0).ok_or("it has no state")?)?;
        let dtype = state.view.dtype;
        if !(dtype.is_float() || matches!(dtype, DType::I32 | DType::U32)) {
            return Err(format!("rows of {dtype} cannot be appended").into());
        }
        let axis = state.axis(self.axis)?;
        let x = cx.at(node.input(1).ok_or("it has no rows")?)?;
        if state.view.shape.iter().chain(&x.view.shape).any(|d| d.is(0)) {
            // Nobody would write a next version: what follows would not wait for those who write this one.
            cx.place(node.output(), state);
            return Ok(());
        }
        let x = apart(cx, x, &state)?;
        let x = source(cx, x, axis)?;
        let after = next_version(cx, id, &state)?;
        emit(cx, id, &x, [&state, &after], (axis, self.mode))
    }
}

/// Rows of `x` into a tensor of words in its place, whose next version that makes; the node has rows and positions
/// where `KvAppend` has them.
pub(super) fn put_rows(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    x: PlacedView,
    tensor: [&PlacedView; 2],
    how: (usize, AppendMode),
) -> LowerResult {
    let x = source(cx, x, how.0)?;
    emit(cx, id, &x, tensor, how)
}

/// The rows, with the two outer strides the kernel can walk.
struct Source {
    at: PlacedView,
    rows: DimExpr,
    outer0: DimExpr,
    strides: [DimExpr; 3],
}

/// Finds x as [outer1, outer0, rows, inner] with inner contiguous, as it lies or in a dense copy.
fn source(cx: &mut LowerCx<'_>, at: PlacedView, axis: usize) -> LowerResult<Source> {
    let inner_dense = {
        let dense = pumice_plan::dense_strides(&at.view.shape[axis + 1..]);
        at.view.strides[axis + 1..]
            .iter()
            .zip(&dense)
            .zip(&at.view.shape[axis + 1..])
            .all(|((a, b), d)| a == b || d.is(1))
    };
    let two_outer = axis <= 2;
    let at = if at.view.is_words() && inner_dense && two_outer && at.view.offset.is(0) {
        at
    } else {
        cx.dense_at(&at, "rows")?
    };
    let (shape, strides) = (&at.view.shape, &at.view.strides);
    let zero = || DimExpr::constant(0);
    let (outer0, outer1_stride, outer0_stride) = match axis {
        0 => (DimExpr::constant(1), zero(), zero()),
        1 => (shape[0].clone(), zero(), strides[0].clone()),
        2 => (shape[1].clone(), strides[0].clone(), strides[1].clone()),
        // Dense: all outer axes are one.
        _ => {
            let all = pumice_ir::shape::product(&shape[..axis]);
            (all, zero(), strides[axis - 1].clone())
        }
    };
    let strides = [outer1_stride, outer0_stride, strides[axis].clone()];
    Ok(Source { rows: shape[axis].clone(), outer0, strides, at })
}

/// What is appended where.
struct Append {
    number: u32,
    /// The state as \[outer, capacity, inner\].
    space: Rows,
    /// Where the frame knows it.
    position: Option<DimExpr>,
    /// Rows of `outer` that share a position.
    pos_div: DimExpr,
    /// Whether a word of the state may hold elements of two rows.
    split: bool,
}

fn emit(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    x: &Source,
    [before, after]: [&PlacedView; 2],
    (axis, mode): (usize, AppendMode),
) -> LowerResult {
    let pos = cx.graph.node(id).input(2).ok_or("it has no position")?;
    let mut step = StepBuilder::new();
    let x_bound = step.read(1, &x.at).along(x.strides.clone());
    let position = cx.scalar_value(pos);
    // A position known to the frame is a use of the frame.
    let pos_at = if position.is_some() { cx.at(pos)? } else { cx.dense(pos)? };
    step.read(0, before);
    let pos_bound = step.read(2, &pos_at);
    let state = step.write(after);
    let number = cx.status_number();
    let status = step.status(cx, number);
    let positions = if position.is_some() { x_bound.unread() } else { pos_bound };
    let space = Rows::of(&before.view.shape, axis..axis + 1);
    let odd = space.inner.divisor(cx.graph.symbols()) % 2 == 1;
    let per_batch = cx.graph.ty(pos).rank() == 1;
    let batch = if per_batch { before.view.shape[0].clone() } else { DimExpr::constant(1) };
    let pos_div = space.outer.exact_quotient(&batch).ok_or("positions do not divide the batch")?;
    let split = state.storage() != FloatStorage::F32 && odd;
    let groups = groups(&space, x, state.storage(), split);
    let append = Append { number, space, position, pos_div, split };
    let call = append.call(mode, cx, x, [x_bound, positions, state, status]);
    step.dispatch_node(cx, id, call, &groups)
}

/// Groups of threads, one for each word of the state that is written, or where words are shared of all of it.
fn groups(space: &Rows, x: &Source, storage: FloatStorage, split: bool) -> DimExpr {
    let two = DimExpr::constant(2);
    let written = &space.outer * &x.rows * &space.inner;
    let words = match (storage, split) {
        (FloatStorage::F32, _) => written,
        (_, false) => written.ceil_div(&two),
        (_, true) => (&space.outer * &space.n * &space.inner).ceil_div(&two),
    };
    words.ceil_div(&DimExpr::constant(256))
}

impl Append {
    fn call(
        &self,
        mode: AppendMode,
        cx: &mut LowerCx<'_>,
        from: &Source,
        operands: [Bound; 4],
    ) -> CallBuilder {
        let [x, positions, state, status] = operands;
        let call = Kernel {
            variant: Kernel::plain,
            mode: u32::from(mode == AppendMode::Circular),
            source: u32::from(self.position.is_none()),
            split: u32::from(self.split),
            outer: cx.arg(&self.space.outer),
            outer0: cx.arg(&from.outer0),
            rows: cx.arg(&from.rows),
            inner: cx.arg(&self.space.inner),
            capacity: cx.arg(&self.space.n),
            pos: self.position.as_ref().map_or(ArgValue::ZERO, |e| cx.arg(e)),
            pos_div: cx.arg(&self.pos_div),
            op: ArgValue::U32(self.number),
            x,
            positions,
            state,
            status,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        call.into_call()
    }
}
