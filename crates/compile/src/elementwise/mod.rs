//! Elementwise steps: an expression over slots, each slot an operand seen through strides of the iteration space.
//!
//! The same kernels are the copies: with the identity as expression, a strided operand becomes a dense result. Copies
//! that exchange the innermost axis have a kernel of their own (`transposed`).

mod strides;

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::meaning::{self, StepMeaning};
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::transposed;
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::broadcast_strides;
use pumice_ir::ValueType;
use pumice_plan::kernel::{Bound, CallBuilder, HoleFill, HoleInput, SlotKind};
use pumice_plan::kernels::elementwise::{ElementwiseFlat, FLAT_ELEMENTS, kinds};
use pumice_plan::{Grid, Storage, View, dense_strides};
use pumice_types::scalar::{RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{DType, DimExpr, Encoding, slots};
use std::sync::Arc;

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
    pub inputs: &'a [PlacedView],
    /// Results, one for each output of `expr`.
    pub outputs: &'a [PlacedView],
    /// Inputs of the meaning by name, each with the index in `inputs` of what it is.
    pub meaning_inputs: &'a [(Arc<str>, usize)],
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
    let all: Vec<&PlacedView> = e.inputs.iter().chain(e.outputs).collect();
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
    e.meaning_inputs.iter().for_each(|(name, i)| step.input(Arc::clone(name), &uses[*i]));
    for at in e.outputs {
        uses.push(step.write(at));
    }
    let mut status_op = 0;
    if e.raises {
        // Its position is that of the element in the result.
        slots.push(Slot {
            kind: SlotKind::Status,
            strides: dense_strides(e.shape),
            offset: DimExpr::constant(0),
        });
        status_op = cx.status_number();
        uses.push(step.status(cx, status_op));
    }
    let inputs = e.inputs.len();
    let fill = fill(e.expr, inputs, slots.len());
    let (call, grid) = choose(cx, e.shape, Body { slots: &slots, inputs, uses, fill, status_op })?;
    step.dispatch(cx, call, grid, e.meaning)
}

/// The body over slots: the first are its inputs, the others its results.
fn fill(expr: ScalarExpr, inputs: usize, slots: usize) -> HoleFill {
    HoleFill {
        hole: "body".into(),
        inputs: (0..inputs).map(|i| HoleInput::Slot(i as u8)).collect(),
        result: None,
        stores: (inputs..slots).map(|slot| (slot as u8, (slot - inputs) as u16)).collect(),
        expr,
    }
}

/// Copies a value from one place to another of the same extents, converting the storage. The plan says why.
pub fn copy(cx: &mut LowerCx<'_>, from: &PlacedView, to: &PlacedView, why: &str) -> LowerResult {
    let first = cx.unplaced.steps.len();
    copy_steps(cx, from, to)?;
    cx.because(first, why);
    Ok(())
}

fn copy_steps(cx: &mut LowerCx<'_>, from: &PlacedView, to: &PlacedView) -> LowerResult {
    let ty = ValueType::new(from.view.dtype, from.view.shape.clone());
    let meaning = meaning::of_copy(cx.graph, &ty).map_err(Refusal)?;
    let expr = ScalarExpr::identity(RegType::from(ty.dtype()));
    let narrow_store = !to.view.is_words();
    // Narrow stores write whole words, four elements at a time: only a dense source can feed them.
    let from = if narrow_store && !from.view.is_dense() {
        let dense = cx.alloc("copy", StorageClass::Scratch, Storage::Arena, &ty)?;
        copy_steps(cx, from, &dense)?;
        dense
    } else {
        from.clone()
    };
    if transposed::copy(cx, &from, to, &meaning)? {
        return Ok(());
    }
    of_one(cx, &from, to, (expr, meaning))
}

/// A step of one operand and one result of the same extents.
fn of_one(
    cx: &mut LowerCx<'_>,
    from: &PlacedView,
    to: &PlacedView,
    (expr, meaning): (ScalarExpr, StepMeaning),
) -> LowerResult {
    let (inputs, outputs) = (std::slice::from_ref(from), std::slice::from_ref(to));
    let (shape, meaning_inputs) = (&*to.view.shape, &[(meaning::operand(0), 0)]);
    elementwise(cx, Elementwise { shape, expr, inputs, outputs, meaning_inputs, meaning, raises: false })
}

/// Copies a value to a place of the same extents in that place's dtype, as `cast` does. The plan says why.
pub fn cast(cx: &mut LowerCx<'_>, from: &PlacedView, to: &PlacedView, why: &str) -> LowerResult {
    let first = cx.unplaced.steps.len();
    let ty = ValueType::new(from.view.dtype, from.view.shape.clone());
    let (given, wanted) = (ty.dtype(), to.view.dtype);
    let meaning = meaning::of_cast(cx.graph, &ty, wanted).map_err(Refusal)?;
    let builder = ScalarBuilder::new(&[RegType::from(given)]);
    let cast = builder.cast(builder.input(0), given, wanted);
    let expr = builder.finish(&[cast]).map_err(|e| Refusal(format!("its scalar form is wrong: {e}")))?;
    of_one(cx, from, to, (expr, meaning))?;
    cx.because(first, why);
    Ok(())
}

/// Copies a value into a dense place it broadcasts to. The plan says why.
pub fn copy_broadcast(cx: &mut LowerCx<'_>, from: &PlacedView, to: &PlacedView, why: &str) -> LowerResult {
    let Slot { strides, offset, .. } = slot(&from.view, &to.view.shape)?;
    let wide = crate::views::restride(from, to.view.shape.clone(), strides, offset);
    copy(cx, &wide, to, why)
}

/// A view over an iteration space it broadcasts to.
pub fn slot(view: &View, shape: &[DimExpr]) -> LowerResult<Slot> {
    if view.shape.len() > shape.len() {
        return Err("an operand has more axes than the result".into());
    }
    Ok(Slot { kind: slot_kind(view), strides: broadcast_strides(view, shape), offset: view.offset.clone() })
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

/// What an elementwise kernel is called with, whichever it is.
struct Body<'a> {
    /// The inputs first.
    slots: &'a [Slot],
    /// How many of the slots are inputs.
    inputs: usize,
    /// What is bound, slot for slot.
    uses: Vec<Bound>,
    fill: HoleFill,
    status_op: u32,
}

impl Body<'_> {
    /// Whether it computes with 64-bit integers on the way, whatever its operands are: no body of vectors does.
    fn has_wide_register(&self) -> bool {
        let expr = &self.fill.expr;
        let results = expr.insts().iter().map(|i| i.ty);
        expr.inputs().iter().copied().chain(results).any(|ty| ty.bits() == 64)
    }

    /// The kinds of the slots, as the kernels take them.
    fn kinds(&self) -> (u32, u32) {
        let all: Vec<SlotKind> = self.slots.iter().map(|s| s.kind).collect();
        kinds(&all)
    }

    /// The inputs that have one element for all, as bits.
    fn scalars(&self, space: &IterationSpace) -> u32 {
        bits((0..self.inputs).filter(|&i| space.strides[i].iter().all(|s| s.is(0))))
    }
}

/// A word with these bits set.
fn bits(set: impl Iterator<Item = usize>) -> u32 {
    set.fold(0, |word, bit| word | 1 << bit)
}

/// The call and the grid of the best kernel.
fn choose(cx: &mut LowerCx<'_>, shape: &[DimExpr], body: Body<'_>) -> LowerResult<(CallBuilder, Grid)> {
    let space = collapse(shape, body.slots);
    let n = pumice_ir::shape::product(&space.shape);
    cx.fits_u32(&n, "the result")?;
    let wide = body.has_wide_register() || body.slots.iter().any(|s| s.kind == SlotKind::Wide);
    let (dense, scalars) = (dense_strides(&space.shape), body.scalars(&space));
    let is_flat =
        |i: usize| body.slots[i].offset.is(0) && (scalars & 1 << i != 0 || space.strides[i] == dense);
    match !wide && (0..body.slots.len()).all(is_flat) {
        true => flat(cx, &n, scalars, body),
        false => strides::choose(cx, &space, &n, wide, body),
    }
}

/// `elementwise_flat`.
fn flat(cx: &mut LowerCx<'_>, n: &DimExpr, scalars: u32, body: Body<'_>) -> LowerResult<(CallBuilder, Grid)> {
    let symbols = cx.graph.symbols();
    let choice = cx.selection.elementwise.flat(n.upper(symbols), cx.target).ok_or(NO_KERNEL)?;
    let per = choice.number("per");
    let tail = u32::from(!n.divisor(symbols).is_multiple_of(4));
    let grid = cx.grid(&n.ceil_div(&(FLAT_ELEMENTS * u64::from(per)).into()))?;
    let (kinds0, kinds1) = body.kinds();
    let call = ElementwiseFlat {
        variant: choice.variant.name,
        kinds0,
        kinds1,
        scalars,
        per,
        tail,
        n: cx.arg(n),
        status_op: body.status_op.into(),
        slots: body.uses,
        holes: vec![body.fill],
    };
    Ok((call.into_call(), grid))
}
