//! Elementwise kernels over strides: one call, made for the kernel whose turn it is.

use super::{Body, IterationSpace, bits};
use crate::cx::{LowerCx, LowerResult};
use crate::select::{Choice, NO_KERNEL};
use pumice_plan::Grid;
use pumice_plan::kernel::{ArgValue, CallBuilder, SlotKind};
use pumice_plan::kernels::elementwise::{ElementwiseStrided, THREADS, TILED_SLOTS};
use pumice_types::{DimExpr, MAX_RANK, slots};

/// The call and the grid of the best kernel for `n` elements; `wide`: some have 64 bits.
pub(super) fn choose(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    n: &DimExpr,
    wide: bool,
    body: Body<'_>,
) -> LowerResult<(CallBuilder, Grid)> {
    let stored = [SlotKind::Word, SlotKind::Wide, SlotKind::Status];
    if body.slots[body.inputs..].iter().any(|s| !stored.contains(&s.kind)) {
        return Err("a narrow result must be stored densely".into());
    }
    if let Some(crossed) = crossed(cx, space, &body) {
        return tiles(cx, crossed, body);
    }
    let by_four = vectorizes(cx, space, &body);
    let upper = n.upper(cx.graph.symbols());
    let choice = cx.selection.elementwise.strided(upper, by_four, wide, cx.target).ok_or(NO_KERNEL)?;
    over_strides(cx, space, &choice, body)
}

/// A kernel over strides: places of the innermost axis are as wide as the kernel takes them at once, and lie in runs
/// where a thread takes several that are neighbours.
fn over_strides(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    choice: &Choice,
    body: Body<'_>,
) -> LowerResult<(CallBuilder, Grid)> {
    let (wide, used) = (choice.roles.columns > 1, body.slots.len() as u32);
    let scalars = if wide { innermost_scalars(space) } else { body.scalars(space) };
    let last = space.shape.len() - 1;
    let mut shape = space.shape.clone();
    shape[last] = shape[last].ceil_div(&choice.roles.columns.into());
    let width = shape[last].clone();
    let most = choice.number("run").into();
    let run = (most > 0).then(|| width.upper(cx.graph.symbols()).clamp(1, most).next_power_of_two());
    shape[last] = width.ceil_div(&run.unwrap_or(1).into());
    let of_group = u64::from(THREADS) * choice.roles.rows;
    let groups = pumice_ir::shape::product(&shape).ceil_div(&of_group.into());
    let (call, grid) = call(cx, space, &shape, groups, body)?;
    let own = [("scalars", scalars), ("used", used)].into_iter().filter(|(name, _)| choice.has(name));
    let call = own.fold(choice.call(call), |call, (name, value)| call.constant(name, value));
    let Some(run) = run else { return Ok((call, grid)) };
    Ok((call.own("width", cx.arg(&width)).own("run", ArgValue::from(run as u32)), grid))
}

/// A space of which some operands lie along the axis before the last.
struct Crossed {
    space: IterationSpace,
    /// These operands, as bits.
    slots: u32,
    choice: Choice,
}

/// The space with another axis before the last, along which operands are contiguous while all results are along the
/// last, where tiles are the best form. `None`: no operand lies so.
fn crossed(cx: &LowerCx<'_>, space: &IterationSpace, body: &Body<'_>) -> Option<Crossed> {
    let (symbols, last) = (cx.graph.symbols(), space.shape.len() - 1);
    let mut stored = body.slots.iter().zip(&space.strides).skip(body.inputs);
    let in_order = stored.all(|(s, strides)| s.kind == SlotKind::Word && strides[last].is(1));
    if !in_order || body.has_wide_register() {
        return None;
    }
    let lies_along = |slot: usize, axis: usize| {
        let strides = &space.strides[slot];
        let apart = !strides[last].is(0) && !strides[last].is(1);
        body.slots[slot].kind == SlotKind::Word && strides[axis].is(1) && apart
    };
    let slots_along = |axis: usize| (0..body.inputs).filter(move |&slot| lies_along(slot, axis));
    let extent = |axis: usize| space.shape[axis].upper(symbols);
    let choice = |axis| cx.selection.elementwise.crossed(extent(axis), extent(last), cx.target);
    let tiled = (0..last).filter_map(|axis| Some((axis, choice(axis)?)));
    let (axis, choice) = tiled.max_by_key(|(axis, _)| slots_along(*axis).count())?;
    let slots = bits(slots_along(axis).take(TILED_SLOTS));
    let moved = |list: &Vec<DimExpr>| {
        let mut list = list.clone();
        let along = list.remove(axis);
        list.insert(last - 1, along);
        list
    };
    let space =
        IterationSpace { shape: moved(&space.shape), strides: space.strides.iter().map(moved).collect() };
    (slots != 0).then_some(Crossed { space, slots, choice })
}

/// `elementwise_tiles`.
fn tiles(cx: &mut LowerCx<'_>, crossed: Crossed, body: Body<'_>) -> LowerResult<(CallBuilder, Grid)> {
    let Crossed { space, slots, choice } = crossed;
    let mut groups = space.shape.clone();
    let outer = groups.len() - 2;
    let tile = [choice.roles.rows, choice.roles.columns];
    groups[outer..].iter_mut().zip(tile).for_each(|(extent, tile)| *extent = extent.ceil_div(&tile.into()));
    let (call, grid) = call(cx, &space, &space.shape, pumice_ir::shape::product(&groups), body)?;
    Ok((choice.call(call).constant("crossed", slots), grid))
}

/// What all these kernels take as arguments, of the extents that they iterate over and of their slots, as a call of
/// `elementwise_strided`; and the grid of so many groups.
fn call(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    shape: &[DimExpr],
    groups: DimExpr,
    body: Body<'_>,
) -> LowerResult<(CallBuilder, Grid)> {
    let n = pumice_ir::shape::product(shape);
    let (kinds0, kinds1) = body.kinds();
    let size = cx.args(shape)?;
    let (offset, stride) = places(cx, space, &body)?;
    let grid = cx.grid(&groups)?;
    let call = ElementwiseStrided {
        variant: ElementwiseStrided::plain,
        kinds0,
        kinds1,
        rank: shape.len() as u32,
        n: cx.arg(&n),
        status_op: body.status_op.into(),
        size,
        offset,
        stride,
        slots: body.uses,
        holes: vec![body.fill],
    };
    Ok((call.into_call(), grid))
}

/// Offsets and strides of the slots, as the kernels take them.
fn places(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    body: &Body<'_>,
) -> LowerResult<([ArgValue; slots::ELEMENTWISE], [ArgValue; MAX_RANK * slots::ELEMENTWISE])> {
    let offsets: Vec<DimExpr> = body.slots.iter().map(|s| s.offset.clone()).collect();
    let offset = cx.args(&offsets)?;
    let mut flat_strides = vec![DimExpr::constant(0); MAX_RANK * body.slots.len()];
    for (i, strides) in space.strides.iter().enumerate() {
        flat_strides[MAX_RANK * i..MAX_RANK * i + strides.len()].clone_from_slice(strides);
    }
    Ok((offset, cx.args(&flat_strides)?))
}

/// The slots that have one element for the whole innermost axis, as bits.
fn innermost_scalars(space: &IterationSpace) -> u32 {
    let last = space.shape.len() - 1;
    bits((0..space.strides.len()).filter(|&i| space.strides[i][last].is(0)))
}

/// Whether the innermost axis can be walked four elements at a time in every slot.
fn vectorizes(cx: &LowerCx<'_>, space: &IterationSpace, body: &Body<'_>) -> bool {
    let last = space.shape.len() - 1;
    let by_four = |e: &DimExpr| cx.by_four(e);
    let all_words = body.slots.iter().all(|s| s.kind == SlotKind::Word);
    all_words
        && !body.has_wide_register()
        && by_four(&space.shape[last])
        && body.slots.iter().zip(&space.strides).enumerate().all(|(i, (s, strides))| {
            let contiguous = strides[last].is(1) && by_four(&s.offset) && strides[..last].iter().all(by_four);
            contiguous || (strides[last].is(0) && i < body.inputs)
        })
}
