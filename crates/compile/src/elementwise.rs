//! Elementwise steps: an expression over slots, each slot an operand seen through strides of the iteration space.
//!
//! The same kernels are the copies: with the identity as expression, a strided operand becomes a dense result. Copies
//! that exchange the innermost axis have a kernel of their own (`transposed`).

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::draft::{Home, Located};
use crate::meaning::{self, StepMeaning};
use crate::select::elementwise::Strided;
use crate::step::StepBuilder;
use crate::transposed;
use pumice_ir::ValueType;
use pumice_plan::kernel::{ArgValue, Bound, CallDraft, HoleFill, HoleInput, KernelDecl, SlotKind};
use pumice_plan::kernels::elementwise::{
    ElementwiseFlat, ElementwiseRuns, ElementwiseRuns4, ElementwiseSpread, ElementwiseStrided,
    ElementwiseStrided4, ElementwiseTiles, FLAT_ELEMENTS, MAX_RANK, SPREAD_ELEMENTS, TILE, TILED_SLOTS,
    kinds,
};
use pumice_plan::{Grid, Storage, View, dense_strides};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, DimExpr, Encoding, slots};

/// An operand over the iteration space.
pub struct Slot {
    /// How its elements are stored.
    pub kind: SlotKind,
    /// In elements, one for each axis of the iteration space.
    pub strides: Vec<DimExpr>,
    /// First element.
    pub offset: DimExpr,
}

/// An elementwise step: `expr` over `inputs`, its results into `outputs`. Inputs broadcast to `shape`; outputs have
/// it, in the order of the meaning's.
pub struct Elementwise<'a> {
    /// The iteration space.
    pub shape: &'a [DimExpr],
    /// What is computed.
    pub expr: ScalarExpr,
    /// Operands, one for each input of `expr`.
    pub inputs: &'a [Located],
    /// Results, one for each output of `expr`.
    pub outputs: &'a [Located],
    /// Inputs of the meaning by name, each with the index in `inputs` of what it is.
    pub meaning_inputs: &'a [(String, usize)],
    /// The meaning.
    pub meaning: StepMeaning,
    /// Whether `expr` has one more output: flags for the status block.
    pub raises: bool,
}

/// Adds an elementwise step.
pub fn elementwise(cx: &mut LowerCx<'_>, e: Elementwise<'_>) -> LowerResult {
    if e.shape.iter().any(|d| d.is(0)) {
        return Ok(()); // A statically empty step is omitted.
    }
    let all: Vec<&Located> = e.inputs.iter().chain(e.outputs).collect();
    if all.len() + usize::from(e.raises) > slots::ELEMENTWISE {
        return Err(format!(
            "{} operands and results, an elementwise kernel has {}",
            all.len(),
            slots::ELEMENTWISE
        )
        .into());
    }
    let mut slots = all.iter().map(|l| slot(&l.view, e.shape)).collect::<LowerResult<Vec<_>>>()?;
    let mut step = StepBuilder::new();
    let mut uses: Vec<Bound> = Vec::new();
    for at in e.inputs {
        uses.push(step.touch(at, pumice_plan::Access::ShaderRead));
    }
    e.meaning_inputs.iter().for_each(|(name, i)| step.input(name, &uses[*i]));
    for at in e.outputs {
        uses.push(step.write(at));
    }
    let mut number = 0;
    if e.raises {
        // Its position is that of the element in the result.
        slots.push(Slot {
            kind: SlotKind::Status,
            strides: dense_strides(e.shape),
            offset: DimExpr::constant(0),
        });
        number = cx.status_number();
        uses.push(step.status(cx, number));
    }
    let stores = slots.len() - e.inputs.len();
    let fill = HoleFill {
        hole: "body".into(),
        inputs: (0..e.inputs.len()).map(|i| HoleInput::Slot(i as u8)).collect(),
        result: None,
        stores: (0..stores).map(|i| ((e.inputs.len() + i) as u8, i as u16)).collect(),
        expr: e.expr,
    };
    let (call, grid) = choose(cx, e.shape, &slots, e.inputs.len(), uses, fill, number)?;
    step.dispatch(cx, call, grid, e.meaning)
}

/// Copies a value from one place to another of the same extents, converting the storage.
pub fn copy(cx: &mut LowerCx<'_>, from: &Located, to: &Located) -> LowerResult {
    let ty = ValueType::new(from.view.dtype, from.view.shape.clone());
    let meaning = meaning::of_copy(cx.graph, &ty).map_err(Refusal)?;
    let expr = ScalarExpr::identity(RegType::from(ty.dtype()));
    let narrow_store = !to.view.is_words();
    // Narrow stores write whole words, four elements at a time: only a dense source can feed them.
    let from = if narrow_store && !from.view.is_dense() {
        let dense = cx.alloc("copy", Home::Scratch, Storage::Arena, &ty)?;
        copy(cx, from, &dense)?;
        dense
    } else {
        from.clone()
    };
    if transposed::copy(cx, &from, to, &meaning)? {
        return Ok(());
    }
    let (inputs, outputs) = (std::slice::from_ref(&from), std::slice::from_ref(to));
    let meaning_inputs = &[(meaning::operand(0), 0)];
    let shape = to.view.shape.clone();
    elementwise(
        cx,
        Elementwise { shape: &shape, expr, inputs, outputs, meaning_inputs, meaning, raises: false },
    )
}

/// Copies a value into a dense place it broadcasts to.
pub fn copy_broadcast(cx: &mut LowerCx<'_>, from: &Located, to: &Located) -> LowerResult {
    let (source, target) = (&from.view.shape, &to.view.shape);
    let missing = target.len().checked_sub(source.len()).ok_or("an operand has more axes than its target")?;
    let mut strides = vec![DimExpr::constant(0); missing];
    for (i, stride) in from.view.strides.iter().enumerate() {
        let stretched = source[i].is(1) && !target[missing + i].is(1);
        strides.push(if stretched { DimExpr::constant(0) } else { stride.clone() });
    }
    let wide = crate::cx::restride(from, target.clone(), strides, from.view.offset.clone());
    copy(cx, &wide, to)
}

/// A view over an iteration space it broadcasts to.
pub fn slot(view: &View, shape: &[DimExpr]) -> LowerResult<Slot> {
    let missing =
        shape.len().checked_sub(view.shape.len()).ok_or("an operand has more axes than the result")?;
    let mut strides = vec![DimExpr::constant(0); missing];
    for (i, (extent, stride)) in view.shape.iter().zip(&view.strides).enumerate() {
        let broadcast = extent.is(1) && !shape[missing + i].is(1);
        strides.push(if broadcast { DimExpr::constant(0) } else { stride.clone() });
    }
    Ok(Slot { kind: slot_kind(view), strides, offset: view.offset.clone() })
}

/// How a view's elements are stored, as kernels see it.
pub fn slot_kind(view: &View) -> SlotKind {
    let (storage, dtype) = match view.storage {
        Storage::Encoded(Encoding::Plain(dtype)) => (Storage::Natural, dtype),
        storage => (storage, view.dtype),
    };
    match (storage, dtype) {
        (_, DType::I64 | DType::U64) => SlotKind::Wide,
        (Storage::Arena, _) => SlotKind::Word,
        (_, DType::F32 | DType::I32 | DType::U32) => SlotKind::Word,
        (_, DType::F16) => SlotKind::F16,
        (_, DType::BF16) => SlotKind::BF16,
        (_, DType::U8 | DType::Bool) => SlotKind::U8,
        (_, DType::I8) => SlotKind::I8,
        (_, DType::U16) => SlotKind::U16,
        (_, DType::I16) => SlotKind::I16,
    }
}

/// An iteration space with unit axes dropped and axes merged that every slot walks as one.
pub struct IterationSpace {
    /// At least one extent.
    pub shape: Vec<DimExpr>,
    /// Of each slot, in elements.
    pub strides: Vec<Vec<DimExpr>>,
}

/// The same iteration space with as few axes as the strides allow.
pub fn collapse(shape: &[DimExpr], slots: &[Slot]) -> IterationSpace {
    let mut space = IterationSpace { shape: Vec::new(), strides: vec![Vec::new(); slots.len()] };
    for (d, extent) in shape.iter().enumerate() {
        if extent.is(1) {
            continue;
        }
        let merges = !space.shape.is_empty()
            && slots
                .iter()
                .zip(&space.strides)
                .all(|(s, merged)| merged.last().is_some_and(|outer| *outer == &s.strides[d] * extent));
        if merges {
            let last = space.shape.len() - 1;
            space.shape[last] = &space.shape[last] * extent;
            slots.iter().zip(&mut space.strides).for_each(|(s, m)| m[last] = s.strides[d].clone());
        } else {
            space.shape.push(extent.clone());
            slots.iter().zip(&mut space.strides).for_each(|(s, m)| m.push(s.strides[d].clone()));
        }
    }
    if space.shape.is_empty() {
        space.shape.push(DimExpr::constant(1));
        space.strides.iter_mut().for_each(|m| m.push(DimExpr::constant(1)));
    }
    space
}

fn choose(
    cx: &mut LowerCx<'_>,
    shape: &[DimExpr],
    slots: &[Slot],
    inputs: usize,
    uses: Vec<Bound>,
    fill: HoleFill,
    status_op: u32,
) -> LowerResult<(CallDraft, Grid)> {
    let space = collapse(shape, slots);
    let n = pumice_ir::shape::product(&space.shape);
    cx.fits_u32(&n, "the result")?;
    let all_kinds: Vec<SlotKind> = slots.iter().map(|s| s.kind).collect();
    let (kinds0, kinds1) = kinds(&all_kinds);
    let wide = all_kinds.contains(&SlotKind::Wide) || has_wide_register(&fill);
    let dense = dense_strides(&space.shape);
    let is_scalar = |i: usize| is_scalar(&space, inputs, i);
    let flat = !wide
        && (0..slots.len()).all(|i| slots[i].offset.is(0) && (is_scalar(i) || space.strides[i] == dense));
    if flat {
        let scalars = (0..slots.len()).filter(|&i| is_scalar(i)).fold(0u32, |m, i| m | 1 << i);
        let symbols = cx.graph.symbols();
        let upper = n.upper(symbols);
        let (variant, per) = cx.selection.elementwise.flat(upper, cx.target);
        let call = ElementwiseFlat {
            variant,
            kinds0,
            kinds1,
            scalars,
            per,
            tail: u32::from(!n.divisor(symbols).is_multiple_of(4)),
            n: cx.arg(&n),
            status_op: status_op.into(),
            slots: uses,
            holes: vec![fill],
        };
        let grid = cx.grid(&n.ceil_div(&(FLAT_ELEMENTS * u64::from(per)).into()))?;
        return Ok((call.into_call(), grid));
    }
    if slots[inputs..].iter().any(|s| !matches!(s.kind, SlotKind::Word | SlotKind::Wide | SlotKind::Status)) {
        return Err("a narrow result must be stored densely".into());
    }
    if let Some(crossed) = crossed(cx, &space, slots, inputs, &fill) {
        return tiles(cx, crossed, slots, uses, (fill, status_op));
    }
    let walked = walked(cx, &space, slots, inputs, &fill);
    let upper = n.upper(cx.graph.symbols());
    match cx.selection.elementwise.strided(upper, walked.by_four, wide, cx.target) {
        Strided::Spread(variant) => spread(cx, &space, slots, inputs, variant, uses, (fill, status_op)),
        Strided::Each(variant) => strided(cx, &space, slots, walked, variant, uses, (fill, status_op)),
        Strided::Runs(variant, most) => {
            runs(cx, &space, slots, walked, (variant, most), uses, (fill, status_op))
        }
    }
}

/// A space of which some operands lie along the axis before the last.
struct Crossed {
    space: IterationSpace,
    /// These operands, as bits.
    slots: u32,
    variant: &'static str,
}

/// The space with another axis before the last, along which operands are contiguous while all results are along the last, where
/// tiles are the best form. `None`: no operand lies so.
fn crossed(
    cx: &LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    inputs: usize,
    fill: &HoleFill,
) -> Option<Crossed> {
    let (symbols, last) = (cx.graph.symbols(), space.shape.len() - 1);
    let stored = || slots.iter().zip(&space.strides).skip(inputs);
    let in_order = stored().all(|(s, strides)| s.kind == SlotKind::Word && strides[last].is(1));
    if !in_order || has_wide_register(fill) {
        return None;
    }
    let lies_along = |slot: usize, axis: usize| {
        let strides = &space.strides[slot];
        let apart = !strides[last].is(0) && !strides[last].is(1);
        slots[slot].kind == SlotKind::Word && strides[axis].is(1) && apart
    };
    let slots_along = |axis: usize| (0..inputs).filter(move |&slot| lies_along(slot, axis));
    let extent = |axis: usize| space.shape[axis].upper(symbols);
    let variant = |axis| cx.selection.elementwise.crossed(extent(axis), extent(last), cx.target);
    let tiled = (0..last).filter_map(|axis| Some((axis, variant(axis)?)));
    let (axis, variant) = tiled.max_by_key(|(axis, _)| slots_along(*axis).count())?;
    let bits = slots_along(axis).take(TILED_SLOTS).fold(0u32, |bits, slot| bits | 1 << slot);
    let moved = |list: &Vec<DimExpr>| {
        let mut list = list.clone();
        let along = list.remove(axis);
        list.insert(last - 1, along);
        list
    };
    let space =
        IterationSpace { shape: moved(&space.shape), strides: space.strides.iter().map(moved).collect() };
    (bits != 0).then_some(Crossed { space, slots: bits, variant })
}

/// `elementwise_tiles`.
fn tiles(
    cx: &mut LowerCx<'_>,
    Crossed { space, slots: crossed, variant }: Crossed,
    slots: &[Slot],
    uses: Vec<Bound>,
    (fill, status_op): (HoleFill, u32),
) -> LowerResult<(CallDraft, Grid)> {
    let mut groups = space.shape.clone();
    let outer = groups.len() - 2;
    groups[outer..].iter_mut().for_each(|extent| *extent = extent.ceil_div(&TILE.into()));
    let groups = pumice_ir::shape::product(&groups);
    let Walk { kinds0, kinds1, rank, n, size, offset, stride, grid } =
        walk_by(cx, &space, slots, &space.shape, &groups)?;
    let call = ElementwiseTiles {
        variant,
        kinds0,
        kinds1,
        rank,
        crossed,
        n,
        status_op: status_op.into(),
        size,
        offset,
        stride,
        slots: uses,
        holes: vec![fill],
    };
    Ok((call.into_call(), grid))
}

fn strided(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    Walked { shape, by_four }: Walked,
    variant: &'static str,
    uses: Vec<Bound>,
    (fill, status_op): (HoleFill, u32),
) -> LowerResult<(CallDraft, Grid)> {
    let Walk { kinds0, kinds1, rank, n, size, offset, stride, grid } = walk(cx, space, slots, &shape)?;
    let call = ElementwiseStrided {
        variant,
        kinds0,
        kinds1,
        rank,
        n,
        status_op: status_op.into(),
        size,
        offset,
        stride,
        slots: uses,
        holes: vec![fill],
    };
    Ok((by_fours(call.into_call(), by_four.then_some(&ElementwiseStrided4::DECL), variant, space), grid))
}

/// `elementwise_spread`.
fn spread(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    inputs: usize,
    variant: &'static str,
    uses: Vec<Bound>,
    (fill, status_op): (HoleFill, u32),
) -> LowerResult<(CallDraft, Grid)> {
    let groups = pumice_ir::shape::product(&space.shape).ceil_div(&SPREAD_ELEMENTS.into());
    let Walk { kinds0, kinds1, rank, n, size, offset, stride, grid } =
        walk_by(cx, space, slots, &space.shape, &groups)?;
    let scalars = (0..slots.len()).filter(|&i| is_scalar(space, inputs, i)).fold(0u32, |m, i| m | 1 << i);
    let call = ElementwiseSpread {
        variant,
        kinds0,
        kinds1,
        rank,
        scalars,
        n,
        status_op: status_op.into(),
        size,
        offset,
        stride,
        slots: uses,
        holes: vec![fill],
    };
    Ok((call.into_call(), grid))
}

/// Whether a slot is an operand that has one element for all.
fn is_scalar(space: &IterationSpace, inputs: usize, slot: usize) -> bool {
    slot < inputs && space.strides[slot].iter().all(|s| s.is(0))
}

/// The call, as the one of a kernel of the same arguments that walks four elements at a time, where there is to be one.
fn by_fours(
    call: CallDraft,
    four: Option<&'static KernelDecl>,
    variant: &'static str,
    space: &IterationSpace,
) -> CallDraft {
    match four {
        Some(decl) => call.of(decl, variant).constant("scalars", scalars_of(space)),
        None => call,
    }
}

/// The extents that a strided kernel walks.
struct Walked {
    shape: Vec<DimExpr>,
    /// Whether by groups of four along the innermost axis.
    by_four: bool,
}

fn walked(
    cx: &LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    inputs: usize,
    fill: &HoleFill,
) -> Walked {
    let by_four = vectorizes(cx, space, slots, inputs) && !has_wide_register(fill);
    let mut shape = space.shape.clone();
    if by_four && let Some(last) = shape.last_mut() {
        *last = last.ceil_div(&DimExpr::constant(4));
    }
    Walked { shape, by_four }
}

/// What every strided kernel is told of the axes that it walks and of its slots.
struct Walk {
    kinds0: u32,
    kinds1: u32,
    rank: u32,
    n: ArgValue,
    size: [ArgValue; MAX_RANK],
    offset: [ArgValue; slots::ELEMENTWISE],
    stride: [ArgValue; MAX_RANK * slots::ELEMENTWISE],
    grid: Grid,
}

/// A thread for each place of a space of these extents.
fn walk(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    shape: &[DimExpr],
) -> LowerResult<Walk> {
    let groups = pumice_ir::shape::product(shape).ceil_div(&DimExpr::constant(256));
    walk_by(cx, space, slots, shape, &groups)
}

/// A space of these extents by so many groups.
fn walk_by(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    shape: &[DimExpr],
    groups: &DimExpr,
) -> LowerResult<Walk> {
    let all_kinds: Vec<SlotKind> = slots.iter().map(|s| s.kind).collect();
    let (kinds0, kinds1) = kinds(&all_kinds);
    let n = pumice_ir::shape::product(shape);
    let size = cx.args(shape)?;
    let (offset, stride) = places(cx, space, slots)?;
    let grid = cx.grid(groups)?;
    Ok(Walk { kinds0, kinds1, rank: shape.len() as u32, n: cx.arg(&n), size, offset, stride, grid })
}

/// The strided kernels of CPU drivers.
fn runs(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
    Walked { mut shape, by_four }: Walked,
    (variant, most): (&'static str, u64),
    uses: Vec<Bound>,
    (fill, status_op): (HoleFill, u32),
) -> LowerResult<(CallDraft, Grid)> {
    let (last, used) = (shape.len() - 1, slots.len() as u32);
    let width = shape[last].clone();
    let run = width.upper(cx.graph.symbols()).clamp(1, most).next_power_of_two();
    shape[last] = width.ceil_div(&run.into());
    let Walk { kinds0, kinds1, rank, n, size, offset, stride, grid } = walk(cx, space, slots, &shape)?;
    let call = ElementwiseRuns {
        variant,
        kinds0,
        kinds1,
        rank,
        used,
        n,
        width: cx.arg(&width),
        run: (run as u32).into(),
        status_op: status_op.into(),
        size,
        offset,
        stride,
        slots: uses,
        holes: vec![fill],
    };
    Ok((by_fours(call.into_call(), by_four.then_some(&ElementwiseRuns4::DECL), variant, space), grid))
}

/// Offsets and strides of the slots, as the strided kernels take them.
fn places(
    cx: &mut LowerCx<'_>,
    space: &IterationSpace,
    slots: &[Slot],
) -> LowerResult<([ArgValue; slots::ELEMENTWISE], [ArgValue; MAX_RANK * slots::ELEMENTWISE])> {
    let offsets: Vec<DimExpr> = slots.iter().map(|s| s.offset.clone()).collect();
    let offset = cx.args(&offsets)?;
    let mut flat_strides = vec![DimExpr::constant(0); MAX_RANK * slots.len()];
    for (i, strides) in space.strides.iter().enumerate() {
        flat_strides[MAX_RANK * i..MAX_RANK * i + strides.len()].clone_from_slice(strides);
    }
    Ok((offset, cx.args(&flat_strides)?))
}

/// The slots that have one element for the whole innermost axis, as bits.
fn scalars_of(space: &IterationSpace) -> u32 {
    let last = space.shape.len() - 1;
    (0..space.strides.len()).filter(|&i| space.strides[i][last].is(0)).fold(0u32, |m, i| m | 1 << i)
}

/// Whether the body computes with 64-bit integers on the way, whatever its operands are: no body of vectors does.
fn has_wide_register(fill: &HoleFill) -> bool {
    let expr = &fill.expr;
    let results = expr.insts().iter().map(|i| i.ty);
    expr.inputs().iter().copied().chain(results).any(|ty| ty.bits() == 64)
}

/// Whether the innermost axis can be walked four elements at a time in every slot.
fn vectorizes(cx: &LowerCx<'_>, space: &IterationSpace, slots: &[Slot], inputs: usize) -> bool {
    let symbols = cx.graph.symbols();
    let last = space.shape.len() - 1;
    let by_four = |e: &DimExpr| e.is(0) || e.divisor(symbols).is_multiple_of(4);
    by_four(&space.shape[last])
        && slots.iter().zip(&space.strides).enumerate().all(|(i, (s, strides))| {
            let word = s.kind == SlotKind::Word;
            let contiguous = strides[last].is(1) && by_four(&s.offset) && strides[..last].iter().all(by_four);
            word && (contiguous || (strides[last].is(0) && i < inputs))
        })
}
