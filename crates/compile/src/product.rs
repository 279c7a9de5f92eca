//! Matrix products: operands as strided batches of matrices, the kernel and its tile, split-K, the epilogue.

use crate::codes::Scales;
use crate::cost;
use crate::cx::{LowerCx, LowerResult};
use crate::hole::{Filled, Meant};
use crate::layout::chunk_size;
use crate::select::matmul::SCALAR;
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use crate::views::broadcast_strides;
use pumice_ir::ops::Rounding;
use pumice_ir::shape::product as elements;
use pumice_plan::kernel::{Bound, CallBuilder, FloatStorage, Roles};
use pumice_plan::kernels::matmul::MatmulF32Lanes;
use pumice_plan::{Access, View};
use pumice_types::{DimExpr, ProductExtents};
use std::sync::Arc;

/// A batch of matrices: two batch axes, rows, columns; strides in elements.
#[derive(Clone, Debug)]
pub struct Matrices {
    /// Index of the first element.
    pub at: DimExpr,
    /// Strides of the two batch axes.
    pub batch: [DimExpr; 2],
    /// Stride between rows.
    pub row: DimExpr,
    /// Stride between columns.
    pub col: DimExpr,
}

impl Matrices {
    /// Strides as the kernels name them: two batch axes, rows, columns.
    fn strides(&self) -> [DimExpr; 4] {
        let [outer, inner] = self.batch.clone();
        [outer, inner, self.row.clone(), self.col.clone()]
    }
}

/// Everything a product kernel needs besides its operands.
#[derive(Clone)]
pub struct ProductSpace {
    /// Extents of the two batch axes; unused ones are 1.
    pub batch: [DimExpr; 2],
    /// Rows of the result.
    pub m: DimExpr,
    /// Columns of the result.
    pub n: DimExpr,
    /// Terms of each sum.
    pub k: DimExpr,
    /// The left operand.
    pub a: Matrices,
    /// The right operand.
    pub b: Matrices,
    /// The result.
    pub y: Matrices,
    /// The slots of the epilogue over the result.
    pub slots: Vec<Matrices>,
    /// To what the factors are rounded when they are loaded.
    pub rounding: Rounding,
}

/// Batch axes that all views walk as one, outermost first: extents, and of each view the stride.
type BatchAxes = Vec<(DimExpr, Vec<DimExpr>)>;

/// The batch axes with those merged that every view walks as one; unit axes are dropped.
fn merged_axes(batch: &[DimExpr], strides: &[Vec<DimExpr>]) -> BatchAxes {
    let mut axes = BatchAxes::new();
    for (d, extent) in batch.iter().enumerate().filter(|(_, extent)| !extent.is(1)) {
        let here: Vec<DimExpr> = strides.iter().map(|s| s[d].clone()).collect();
        let goes_on = |outer: &[DimExpr]| outer.iter().zip(&here).all(|(o, s)| *o == s * extent);
        match axes.last_mut() {
            Some(last) if goes_on(&last.1) => *last = (&last.0 * extent, here),
            _ => axes.push((extent.clone(), here)),
        }
    }
    axes
}

/// Views of rank 2 or more over the two collapsed batch axes and the matrix axes of `shape`; `None` where the batch
/// does not collapse to two axes.
pub fn collapse_batch(shape: &[DimExpr], views: &[&View]) -> Option<([DimExpr; 2], Vec<Matrices>)> {
    let rank = shape.len();
    let strides: Vec<Vec<DimExpr>> = views.iter().map(|v| broadcast_strides(v, shape)).collect();
    let mut axes = merged_axes(&shape[..rank - 2], &strides);
    while axes.len() < 2 {
        axes.insert(0, (DimExpr::constant(1), vec![DimExpr::constant(0); views.len()]));
    }
    let Ok([outer, inner]) = <[_; 2]>::try_from(axes) else { return None };
    let matrices = views.iter().zip(&strides).enumerate().map(|(i, (v, s))| Matrices {
        at: v.offset.clone(),
        batch: [outer.1[i].clone(), inner.1[i].clone()],
        row: s[rank - 2].clone(),
        col: s[rank - 1].clone(),
    });
    Some(([outer.0, inner.0], matrices.collect()))
}

/// Adds the step of a product.
///
/// # Errors
/// A result whose columns are apart, more results than kernels count, no kernel that takes it.
pub fn emit(
    cx: &mut LowerCx<'_>,
    space: ProductSpace,
    [a, b, y]: [&PlacedView; 3],
    epilogue: Filled,
    Meant { meaning, inputs }: Meant,
) -> LowerResult {
    if [&space.batch[0], &space.batch[1], &space.m, &space.n].iter().any(|d| d.is(0)) {
        return Ok(());
    }
    cx.fits_u32(&elements(&y.view.shape), "the result")?;
    let space = fold_batch(space);
    if !space.y.col.is(1) {
        return Err("a product is stored along its rows".into());
    }
    let b = &decoded(cx, &space, b)?;
    let choice = choose(cx, &space, &b.view)?;
    let [a, b] = &rounded(cx, &space, &choice, [a, b])?;
    let coded = Coded::of(cx, b, &inputs);
    let mut step = StepBuilder::new();
    let a = step.touch(a, Access::ShaderRead).along(space.a.strides());
    let b = step.touch(b, Access::ShaderRead).along(space.b.strides());
    let along = |i: usize, _: &View| Ok(space.slots[i].strides().into());
    let (y, slots) = step.through(&epilogue, &[&a, &b], y, &inputs, along)?;
    let [b0, b1, row, _] = space.y.strides();
    let call = call(cx, &space, &choice, [a, b.clone(), y.along([b0, b1, row])])
        .holes(slots, epilogue.fill.into_iter().collect());
    let call = coded.call(&mut step, call, &b);
    let grid = cx.grid(&groups(&space, &choice))?;
    step.flops(flops(cx, &space), choice.roles.precision);
    step.dispatch(cx, call, grid, meaning)
}

/// Multiplications from which on factors are rounded before, by a step of their own, which is a level more (a step of
/// GPT-2 in bf16, with 24 products of as many or more in every layer: 26.7 to 21.0 ms, H200, 2026-11-29).
const ROUNDED_FROM: u64 = 1 << 29;
/// Rows and columns from which on they are: with fewer one factor is small, and the other is read in few tiles.
const ROUNDED_WIDTH: u64 = 128;

/// The factors as a product reads them: those that it would round more than once, in every tile of the other one's
/// rows or columns, are rounded before, and stored in half the bytes.
fn rounded(
    cx: &mut LowerCx<'_>,
    space: &ProductSpace,
    choice: &Choice,
    [a, b]: [&PlacedView; 2],
) -> LowerResult<[PlacedView; 2]> {
    let (mut factors, symbols) = ([a.clone(), b.clone()], cx.graph.symbols());
    let Some(dtype) = space.rounding.dtype() else { return Ok(factors) };
    let extents = [&space.batch[0], &space.batch[1], &space.m, &space.n, &space.k];
    let [outer, inner, m, n, k] = extents.map(|extent| extent.upper(symbols));
    let work = [outer, inner, n, k].into_iter().fold(m, u64::saturating_mul);
    if work < ROUNDED_FROM || m.min(n) < ROUNDED_WIDTH {
        return Ok(factors);
    }
    let again = [n > choice.roles.columns, m > choice.roles.rows];
    for (factor, _) in factors.iter_mut().zip(again).filter(|(_, again)| *again) {
        // Weights are not kept twice.
        if !cx.unplaced.buffer_of(factor.version).class.is_load_time()
            && let Some(rounded) = cx.rounded_at(factor, dtype)?
        {
            *factor = rounded;
        }
    }
    Ok(factors)
}

/// Of all of the device's memory, what f32 values of one weight, with those rounded once more, may take at most: a
/// sixteenth.
const DECODED_SHARE: u64 = 16;
/// Of the rows from which on decoding pays, what a run has at least: a quarter. One of 1 to 512 rows would decode every
/// weight for each token.
const FEWEST_SHARE: u64 = 4;

/// The right operand, decoded where so many rows are multiplied with it that their tiles would decode it too often. Its
/// values are made anew in each run: kept, they would take several times what the weight takes.
fn decoded(cx: &mut LowerCx<'_>, space: &ProductSpace, b: &PlacedView) -> LowerResult<PlacedView> {
    let is_in_blocks = matches!(FloatStorage::of(&b.view), FloatStorage::Blocks(_));
    let most = extents(cx, space, &b.view);
    let fewest = space.m.lower(cx.graph.symbols()).saturating_mul(FEWEST_SHARE).min(most.m);
    if !is_in_blocks || !cx.selection.matmul.decodes_before(&ProductExtents { m: fewest, ..most }, cx.target)
    {
        return Ok(b.clone());
    }
    let whole = elements(&cx.unplaced.versions[b.version.0 as usize].ty.shape).upper(cx.graph.symbols());
    let rounded = if space.rounding.dtype().is_some() { 2 } else { 0 };
    let fits = whole.saturating_mul(4 + rounded) <= cx.target.limits.memory.0 / DECODED_SHARE
        // One value lies in one allocation, with what is beside it; what does is less than kernels count to.
        && whole.saturating_mul(4) <= chunk_size(cx.target) / 2;
    if !fits || !cx.is_worth_whole(b) {
        return Ok(b.clone());
    }
    cx.decoded_anew(b, "many rows are multiplied with it, and their tiles would each decode it")
}

/// A right operand that may be codes: what makes its values, its name in the meaning, and its view.
struct Coded(Option<(Scales, Arc<str>, Arc<View>)>);

impl Coded {
    fn of(cx: &LowerCx<'_>, b: &PlacedView, inputs: &[(Arc<str>, usize)]) -> Coded {
        let name = inputs.iter().find(|(_, i)| *i == 1).map(|(name, _)| Arc::clone(name));
        Coded(cx.scales_of(b).zip(name).map(|(scales, name)| (scales, name, b.view.clone())))
    }

    /// The call with what stands beside the codes.
    fn call(&self, step: &mut StepBuilder, call: CallBuilder, b: &Bound) -> CallBuilder {
        match &self.0 {
            Some((scales, name, view)) => scales.of_product(step, call, name, (b, view)),
            None => call,
        }
    }
}

/// One product of many rows instead of many products with one right operand: batch · M rows, where every operand that
/// walks the batch does so as if its rows went on.
fn fold_batch(mut space: ProductSpace) -> ProductSpace {
    for axis in [1, 0] {
        let (extent, m) = (space.batch[axis].clone(), space.m.clone());
        let inner_done = axis == 1 || space.batch[1].is(1);
        let ProductSpace { a, b, y, slots, .. } = &mut space;
        let mut walking: Vec<&mut Matrices> = [a, y].into_iter().chain(slots).collect();
        let all_go_on = walking.iter().all(|x| x.batch[axis] == &x.row * &m);
        if extent.is(1) || !inner_done || !b.batch[axis].is(0) || !all_go_on {
            continue;
        }
        walking.iter_mut().for_each(|x| x.batch[axis] = DimExpr::constant(0));
        space.m = m * extent;
        space.batch[axis] = DimExpr::constant(1);
    }
    space
}

fn flops(cx: &LowerCx<'_>, space: &ProductSpace) -> DimExpr {
    let two = DimExpr::constant(2);
    let all = [&two, &space.batch[0], &space.batch[1], &space.m, &space.n, &space.k];
    cost::product(all, cx.graph.symbols())
}

/// How an operand is read: along its contiguous axis, sixteen bytes at once where alignment allows. Strides and extents
/// are those of k and of the other axis.
pub fn mode(
    cx: &LowerCx<'_>,
    m: &Matrices,
    [along_k, along_free]: [&DimExpr; 2],
    [k, free]: [&DimExpr; 2],
) -> u32 {
    let aligned = cx.by_four(&m.at) && m.batch.iter().all(|e| cx.by_four(e));
    if along_k.is(1) {
        let vector = aligned && cx.by_four(along_free) && cx.by_four(k);
        return u32::from(vector);
    }
    if along_free.is(1) {
        let whole = cx.by_four(free) && free.lower(cx.graph.symbols()) >= 4;
        return 2 + u32::from(aligned && cx.by_four(along_k) && whole);
    }
    0
}

/// The modes that a choice reads by, as bits.
pub fn widest_mode(choice: &Choice) -> u32 {
    if choice.number(SCALAR) == 1 { 2 } else { 3 }
}

/// The kernel, by the upper bounds of the extents.
fn choose(cx: &LowerCx<'_>, space: &ProductSpace, b: &View) -> LowerResult<Choice> {
    Ok(cx.selection.matmul.choose(&extents(cx, space, b), cx.target).ok_or(NO_KERNEL)?)
}

/// The upper bounds of the extents, and how the right operand lies.
fn extents(cx: &LowerCx<'_>, space: &ProductSpace, b: &View) -> ProductExtents {
    let symbols = cx.graph.symbols();
    let up = |d: &DimExpr| d.upper(symbols).max(1);
    ProductExtents {
        m: up(&space.m),
        n: up(&space.n),
        k: up(&space.k),
        batches: up(&space.batch[0]).saturating_mul(up(&space.batch[1])),
        b_along_k: space.b.row.is(1),
        b_stored: FloatStorage::of(b).class(),
        precision: space.rounding.precision(),
    }
}

fn groups(space: &ProductSpace, choice: &Choice) -> DimExpr {
    let c = |v: u64| DimExpr::from(v);
    let batches = &space.batch[0] * &space.batch[1];
    let tiles = space.m.ceil_div(&c(choice.roles.rows)) * space.n.ceil_div(&c(choice.roles.columns));
    tiles * batches
}

/// A rounding as kernels know it (`shaders/include/rounded.glsl`).
pub fn round(rounding: Rounding) -> u32 {
    match rounding {
        Rounding::None => 0,
        Rounding::F16 => 1,
        Rounding::Bf16 => 2,
    }
}

/// How the kernel reads its operands and stores its result, by alignment: `a_mode`, `b_mode`, `vec_y`.
fn modes(cx: &LowerCx<'_>, space: &ProductSpace, choice: &Choice) -> [u32; 3] {
    let (a, b, widest) = (&space.a, &space.b, widest_mode(choice));
    let a = mode(cx, a, [&a.col, &a.row], [&space.k, &space.m]) & widest;
    let b = mode(cx, b, [&b.row, &b.col], [&space.k, &space.n]) & widest;
    let y_rows = [&space.y.at, &space.y.batch[0], &space.y.batch[1], &space.y.row, &space.n];
    let y = space.y.col.is(1) && y_rows.iter().all(|e| cx.by_four(e));
    [a, b, u32::from(y)]
}

/// The kernel call. All product kernels take the same arguments; only constants of their own differ.
fn call(cx: &mut LowerCx<'_>, space: &ProductSpace, choice: &Choice, [a, b, y]: [Bound; 3]) -> CallBuilder {
    let [a_mode, b_mode, vec_y] = modes(cx, space, choice);
    let call = MatmulF32Lanes {
        variant: choice.variant.name,
        a_mode,
        b_mode,
        vec_y,
        round: round(space.rounding),
        m: cx.arg(&space.m),
        n: cx.arg(&space.n),
        k: cx.arg(&space.k),
        batches: cx.arg(&(&space.batch[0] * &space.batch[1])),
        inner: cx.arg(&space.batch[1]),
        a,
        b,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let left = tails(cx, &choice.roles, [&space.m, &space.n, &space.k]);
    let of_tails = ["k_tail", "edge"].into_iter().zip(left).filter(|(name, _)| choice.has(name));
    of_tails.fold(choice.call(call.into_call()), |call, (name, value)| call.constant(name, value))
}

/// What tiles of these roles leave over of an m x n result of k terms: `k_tail` and `edge`.
pub fn tails(cx: &LowerCx<'_>, roles: &Roles, [m, n, k]: [&DimExpr; 3]) -> [u32; 2] {
    let symbols = cx.graph.symbols();
    let divides = |e: &DimExpr, by: u64| e.divisor(symbols).is_multiple_of(by);
    let k_tail = match divides(k, roles.step) {
        true => 0,
        false if k.lower(symbols) >= roles.least_k => 2,
        false => 1,
    };
    [k_tail, u32::from(!divides(m, roles.rows) || !divides(n, roles.columns))]
}
