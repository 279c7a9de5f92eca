//! Matrix products: operands as strided batches of matrices, the kernel and its tile, split-K, the epilogue.

use crate::cost;
use crate::cx::{LowerCx, LowerResult, float_storage};
use crate::draft::Located;
use crate::meaning::StepMeaning;
use crate::select::matmul::SCALAR;
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use pumice_ir::ops::Rounding;
use pumice_ir::shape::product as elements;
use pumice_plan::kernel::{Bound, CallDraft, FloatStorage, HoleFill, Roles};
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
    /// To what the factors are rounded when they are loaded.
    pub rounding: Rounding,
}

/// An extra operand or result of the epilogue.
pub struct SlotView {
    /// Where it is.
    pub at: Located,
    /// Its strides over the result.
    pub over: Matrices,
}

/// What happens to each element of the product before it is stored.
#[derive(Default)]
pub struct Epilogue {
    /// The filled hole; none is the identity.
    pub fill: Option<HoleFill>,
    /// Its slots, in order: operands, then results that are stored besides the kernel's own.
    pub slots: Vec<SlotView>,
    /// How many of the slots are operands.
    pub operands: usize,
}

/// A view of rank 2 or more over the two collapsed batch axes and the matrix axes of `shape`; `None` where the batch
/// does not collapse to two axes.
pub fn collapse_batch(shape: &[DimExpr], views: &[&View]) -> Option<([DimExpr; 2], Vec<Matrices>)> {
    let rank = shape.len();
    let batch = &shape[..rank - 2];
    let strides: Vec<Vec<DimExpr>> = views.iter().map(|v| broadcast_strides(v, shape)).collect();
    let mut axes: Vec<(DimExpr, Vec<DimExpr>)> = Vec::new();
    for (d, extent) in batch.iter().enumerate() {
        if extent.is(1) {
            continue;
        }
        let here: Vec<DimExpr> = strides.iter().map(|s| s[d].clone()).collect();
        let merges =
            axes.last().is_some_and(|(_, outer)| outer.iter().zip(&here).all(|(o, s)| *o == s * extent));
        match axes.last_mut() {
            Some(last) if merges => *last = (&last.0 * extent, here),
            _ => axes.push((extent.clone(), here)),
        }
    }
    if axes.len() > 2 {
        return None;
    }
    while axes.len() < 2 {
        axes.insert(0, (DimExpr::constant(1), vec![DimExpr::constant(0); views.len()]));
    }
    let matrices = views.iter().zip(&strides).enumerate().map(|(i, (v, s))| Matrices {
        at: v.offset.clone(),
        batch: [axes[0].1[i].clone(), axes[1].1[i].clone()],
        row: s[rank - 2].clone(),
        col: s[rank - 1].clone(),
    });
    let matrices = matrices.collect();
    Some(([axes[0].0.clone(), axes[1].0.clone()], matrices))
}

/// Strides of a view over a shape it broadcasts to. The last two axes of `shape` are the view's own extents there.
pub fn broadcast_strides(view: &View, shape: &[DimExpr]) -> Vec<DimExpr> {
    let missing = shape.len() - view.shape.len();
    let zero = DimExpr::constant(0);
    (0..shape.len())
        .map(|d| match d.checked_sub(missing) {
            Some(i) if !view.shape[i].is(1) || shape[d].is(1) => view.strides[i].clone(),
            _ => zero.clone(),
        })
        .collect()
}

/// Adds the steps of a product. `meaning_inputs` are the inputs of the meaning by name, each with its number among a, b
/// and the epilogue's operands.
pub fn emit(
    cx: &mut LowerCx<'_>,
    space: &ProductSpace,
    operands: [&Located; 3],
    epilogue: Epilogue,
    meaning: StepMeaning,
    meaning_inputs: &[(Arc<str>, usize)],
) -> LowerResult {
    let [a, b, y] = operands;
    if [&space.batch[0], &space.batch[1], &space.m, &space.n].iter().any(|d| d.is(0)) {
        return Ok(());
    }
    cx.fits_u32(&elements(&y.view.shape), "the result")?;
    let (space, epilogue) = fold_batch(space, epilogue);
    let space = &space;
    if !space.y.col.is(1) {
        return Err("a product is stored along its rows".into());
    }
    let choice = choose(cx, space, &b.view).ok_or(NO_KERNEL)?;
    let mut step = StepBuilder::new();
    let a = step.touch(a, Access::ShaderRead).along(space.a.strides());
    let b = step.touch(b, Access::ShaderRead).along(space.b.strides());
    let slots = touch_slots(&mut step, &epilogue);
    let (read, stored) = slots.split_at(epilogue.operands);
    let reads: Vec<&Bound> = [&a, &b].into_iter().chain(read).collect();
    meaning_inputs.iter().for_each(|(name, i)| step.input(Arc::clone(name), reads[*i]));
    let [b0, b1, row, _] = space.y.strides();
    let y = step.write(y).along([b0, b1, row]);
    stored.iter().for_each(|bound| step.wrote(bound));
    let call = call(cx, space, &choice, [a, b, y]).holes(slots, epilogue.fill.into_iter().collect());
    let grid = groups(space, &choice);
    let grid = cx.grid(&grid)?;
    step.flops(flops(cx, space), choice.roles.precision);
    step.dispatch(cx, call, grid, meaning)
}

/// One product of many rows instead of many products with one right operand: batch · M rows, where every operand that
/// walks the batch does so as if its rows went on.
fn fold_batch(space: &ProductSpace, mut epilogue: Epilogue) -> (ProductSpace, Epilogue) {
    let mut space = space.clone();
    for axis in [1, 0] {
        let extent = space.batch[axis].clone();
        let m = space.m.clone();
        let goes_on = |x: &Matrices| x.batch[axis] == &x.row * &m;
        let all_go_on =
            goes_on(&space.a) && goes_on(&space.y) && epilogue.slots.iter().all(|s| goes_on(&s.over));
        let inner_done = axis == 1 || space.batch[1].is(1);
        if extent.is(1) || !inner_done || !space.b.batch[axis].is(0) || !all_go_on {
            continue;
        }
        space.m = m * extent;
        space.batch[axis] = DimExpr::constant(1);
        let zero = || DimExpr::constant(0);
        for x in
            [&mut space.a, &mut space.y].into_iter().chain(epilogue.slots.iter_mut().map(|s| &mut s.over))
        {
            x.batch[axis] = zero();
        }
    }
    (space, epilogue)
}

fn touch_slots(step: &mut StepBuilder, epilogue: &Epilogue) -> Vec<Bound> {
    let access = |i| if i < epilogue.operands { Access::ShaderRead } else { Access::ShaderWrite };
    let slots = epilogue.slots.iter().enumerate();
    slots.map(|(i, s)| step.touch(&s.at, access(i)).along(s.over.strides())).collect()
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
fn choose(cx: &LowerCx<'_>, space: &ProductSpace, b: &View) -> Option<Choice> {
    let symbols = cx.graph.symbols();
    let up = |d: &DimExpr| d.upper(symbols).max(1);
    let product = ProductExtents {
        m: up(&space.m),
        n: up(&space.n),
        k: up(&space.k),
        batches: up(&space.batch[0]).saturating_mul(up(&space.batch[1])),
        b_along_k: space.b.row.is(1),
        b_words: float_storage(b) == FloatStorage::F32,
        b_blocks: matches!(float_storage(b), FloatStorage::Blocks(_)),
        precision: space.rounding.precision(),
    };
    cx.selection.matmul.choose(&product, cx.target)
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
fn call(cx: &mut LowerCx<'_>, space: &ProductSpace, choice: &Choice, [a, b, y]: [Bound; 3]) -> CallDraft {
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
