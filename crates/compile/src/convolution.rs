//! Convolutions: operands as batches, groups, channels and three spatial axes; the kernel; the epilogue.

use crate::cost;
use crate::cx::{LowerCx, LowerResult, float_storage, restride};
use crate::draft::{Home, Located};
use crate::elementwise;
use crate::meaning::StepMeaning;
use crate::product::{self, Matrices, ProductSpace, SlotView, broadcast_strides, by_four};
use crate::select::matmul::SCALAR;
use crate::step::StepBuilder;
use crate::window::{Axis, Window, joint_stride, spatial_strides};
use pumice_ir::ValueType;
use pumice_ir::ops::Rounding;
use pumice_ir::shape::product as elements;
use pumice_plan::kernel::{Bound, CallDraft, FloatStorage, HoleFill, Roles};
use pumice_plan::kernels::convolution::{ConvDirect, ConvTile};
use pumice_plan::{Access, Storage, View};
use pumice_types::{DimExpr, Precision, ProductExtents};
use std::sync::Arc;

/// Positions of one batch that fill the columns of tiles well enough.
const WIDE: u64 = 512;

/// Outputs of a group that fill the rows of tiles well enough.
const ROWS: u64 = 8;

/// A convolution without its operands.
pub struct Convolution {
    /// Batches.
    pub batches: DimExpr,
    /// Groups, each with channels and outputs of its own.
    pub groups: u64,
    /// Channels of the operand in a group.
    pub channels: DimExpr,
    /// Channels of the result in a group.
    pub outputs: DimExpr,
    /// The spatial axes.
    pub window: Window,
    /// Whether the weights are [channels, outputs, taps…] instead of [outputs, channels, taps…].
    pub transposed: bool,
    /// To what operand and weights are rounded when they are loaded.
    pub rounding: Rounding,
}

/// What happens to each element before it is stored.
#[derive(Default)]
pub struct Epilogue {
    /// The filled hole; none is the identity.
    pub fill: Option<HoleFill>,
    /// Its slots: operands, then results that are stored besides the kernel's own.
    pub slots: Vec<Located>,
    /// How many of the slots are operands.
    pub operands: usize,
    /// Whether the first of them is the bias, one number for each channel.
    pub bias: bool,
}

/// Weights as a kernel sees them.
struct Weights {
    at: Located,
    strides: Vec<DimExpr>,
}

/// Adds the step of a convolution. `meaning_inputs` are the inputs of the meaning by name, each with its number among
/// the operand, the weights and the epilogue's operands.
///
/// # Errors
/// Extents beyond what kernels count, an epilogue over axes that are walked apart.
pub fn emit(
    cx: &mut LowerCx<'_>,
    conv: &Convolution,
    [x, w, y]: [&Located; 3],
    epilogue: Epilogue,
    meaning: StepMeaning,
    meaning_inputs: &[(Arc<str>, usize)],
) -> LowerResult {
    if y.view.shape.iter().any(|d| d.is(0)) {
        return Ok(());
    }
    cx.fits_u32(&elements(&y.view.shape), "the result")?;
    cx.fits_u32(&elements(&x.view.shape), "the operand")?;
    if let Some(space) = conv.product(cx, [&x.view, &w.view, &y.view]) {
        return conv.multiply(cx, &space, [x, w, y], epilogue, meaning, meaning_inputs);
    }
    conv.convolve(cx, [x, w, y], epilogue, meaning, meaning_inputs)
}

/// An operand of an epilogue as words whose spatial axes are walked as one, over a result of that shape.
pub fn slot(cx: &mut LowerCx<'_>, at: &Located, shape: &[DimExpr]) -> LowerResult<Located> {
    let at = if at.view.is_words() { at.clone() } else { cx.dense_at(at, "epilogue")? };
    let strides = broadcast_strides(&at.view, shape);
    if joint_stride(&shape[2..], &strides[2..]).is_some() {
        return Ok(at);
    }
    let ty = ValueType::new(at.view.dtype, shape.to_vec());
    let to = cx.alloc("broadcast", Home::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(
        cx,
        &at,
        &to,
        "an epilogue walks the positions of a convolution as one axis",
    )?;
    Ok(to)
}

impl Convolution {
    /// Over batches, groups, channels and the spatial axes.
    fn operand_strides(&self, view: &View) -> [DimExpr; 6] {
        let [d, h, w] = spatial_strides(view, 2);
        let channel = view.strides[1].clone();
        [view.strides[0].clone(), &channel * &self.channels, channel, d, h, w]
    }

    /// Over batches, groups and outputs; positions lie side by side.
    fn result_strides(&self, view: &View) -> [DimExpr; 3] {
        let output = view.strides[1].clone();
        [view.strides[0].clone(), &output * &self.outputs, output]
    }

    /// As [`Convolution::slot_strides`], for the slot of that number; the bias varies with the channel alone.
    fn strides_of(&self, i: usize, epilogue: &Epilogue, shape: &[DimExpr]) -> Option<[DimExpr; 4]> {
        let view = &epilogue.slots[i].view;
        if i > 0 || !epilogue.bias {
            return self.slot_strides(view, shape);
        }
        let (none, channel) = (DimExpr::constant(0), view.strides[0].clone());
        Some([none.clone(), &channel * &self.outputs, channel, none])
    }

    /// Over batches, groups, outputs and positions.
    fn slot_strides(&self, view: &View, shape: &[DimExpr]) -> Option<[DimExpr; 4]> {
        let strides = broadcast_strides(view, shape);
        let position = joint_stride(&shape[2..], &strides[2..])?;
        Some([strides[0].clone(), &strides[1] * &self.outputs, strides[1].clone(), position])
    }

    /// The step of a convolution that walks a window.
    fn convolve(
        &self,
        cx: &mut LowerCx<'_>,
        [x, w, y]: [&Located; 3],
        epilogue: Epilogue,
        meaning: StepMeaning,
        meaning_inputs: &[(Arc<str>, usize)],
    ) -> LowerResult {
        let tile = self.tile(cx, w);
        let weights = match &tile {
            Some(tile) => tile.weights(cx, self, w)?,
            None => self.weights(cx, w)?,
        };
        let mut step = StepBuilder::new();
        let x_bound = step.touch(x, Access::ShaderRead).along(self.operand_strides(&x.view));
        let w_bound = step.touch(&weights.at, Access::ShaderRead).along(weights.strides.clone());
        let slots = self.touch_slots(&mut step, &epilogue, &y.view.shape)?;
        let reads: Vec<&Bound> =
            [&x_bound, &w_bound].into_iter().chain(&slots[..epilogue.operands]).collect();
        meaning_inputs.iter().for_each(|(name, i)| step.input(Arc::clone(name), reads[*i]));
        let y_bound = step.write(y).along(self.result_strides(&y.view));
        slots[epilogue.operands..].iter().for_each(|stored| step.wrote(stored));
        step.flops(self.flops(cx), tile.as_ref().map_or(Precision::Exact, |tile| tile.roles.precision));
        let bound = [w_bound, x_bound, y_bound];
        let (call, groups) = match &tile {
            Some(tile) => tile.call(cx, self, &weights, bound, &y.view),
            None => self.direct(cx, bound, &y.view),
        };
        let call = call.holes(slots, epilogue.fill.into_iter().collect());
        let grid = cx.grid(&groups)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// Binds what an epilogue over a result of that shape reads, then what it stores.
    fn touch_slots(
        &self,
        step: &mut StepBuilder,
        epilogue: &Epilogue,
        shape: &[DimExpr],
    ) -> LowerResult<Vec<Bound>> {
        let touched = |(i, at): (usize, &Located)| {
            let access = if i < epilogue.operands { Access::ShaderRead } else { Access::ShaderWrite };
            let strides = self.strides_of(i, epilogue, shape).ok_or("a slot walks its positions apart")?;
            Ok(step.touch(at, access).along(strides))
        };
        epilogue.slots.iter().enumerate().map(touched).collect()
    }

    /// The weights with taps that are walked as one axis, in words or 16-bit floats.
    fn weights(&self, cx: &mut LowerCx<'_>, w: &Located) -> LowerResult<Weights> {
        let at = cx.decoded(w)?;
        let halves = float_storage(&at.view) != FloatStorage::F32;
        let taps = joint_stride(&at.view.shape[2..], &at.view.strides[2..]);
        // Groups of four 16-bit elements must lie on 8 bytes; an offset could break that.
        let (at, tap) = match taps {
            Some(tap) if !halves || at.view.offset.is(0) => (at, tap),
            _ => (cx.dense_at(&at, "w")?, DimExpr::constant(1)),
        };
        let [first, second] = [0, 1].map(|d| at.view.strides[d].clone());
        let strides = match self.transposed {
            false => [&first * &self.outputs, first, second, tap],
            true => [&first * &self.channels, second, first, tap],
        };
        Ok(Weights { at, strides: strides.into() })
    }

    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let (two, groups, taps) = (DimExpr::constant(2), self.groups.into(), self.window.taps().into());
        let positions = self.window.positions();
        let all = [&two, &self.batches, &groups, &self.channels, &self.outputs, &taps, &positions];
        cost::product(all, cx.graph.symbols())
    }

    fn direct(&self, cx: &mut LowerCx<'_>, [w, x, y]: [Bound; 3], view: &View) -> (CallDraft, DimExpr) {
        let (variant, rows) = match self.outputs.upper(cx.graph.symbols()) {
            ..=2 => (ConvDirect::plain_one, 1),
            _ => (ConvDirect::plain, 4),
        };
        let words = self.window.words(cx);
        let call = ConvDirect {
            variant,
            vec_y: u32::from(self.by_quads(cx, view)),
            transposed: u32::from(self.window.0.iter().any(|a| a.up != 1)),
            round: product::round(self.rounding),
            batches: cx.arg(&self.batches),
            groups: cx.arg(&self.groups.into()),
            channels: cx.arg(&self.channels),
            outputs: cx.arg(&self.outputs),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            step: words.step,
            dilation: words.dilation,
            begin: words.begin,
            up: words.up,
            x,
            w,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let quads = self.window.positions().ceil_div(&DimExpr::constant(4));
        let threads = &self.batches * self.groups * self.outputs.ceil_div(&DimExpr::from(rows)) * quads;
        (call.into_call(), threads.ceil_div(&DimExpr::constant(64)))
    }

    /// Whether four neighbouring positions are stored at once.
    fn by_quads(&self, cx: &LowerCx<'_>, y: &View) -> bool {
        let positions = self.window.positions();
        [&positions, &y.offset, &y.strides[0], &y.strides[1]].into_iter().all(|e| by_four(cx, e))
    }

    /// One tap that meets every element: a matrix of weights times the matrix of each batch, whose rows are channels.
    /// None where it is something else, and where so few positions leave most of a tile empty that batches should share
    /// tiles.
    fn product(&self, cx: &LowerCx<'_>, [x, w, y]: [&View; 3]) -> Option<ProductSpace> {
        let whole =
            |a: &Axis| a.kernel == 1 && a.begin.is(0) && a.step == 1 && a.up == 1 && a.extent == a.end;
        let apart = self.batches.upper(cx.graph.symbols()) > 1
            && self.window.positions().upper(cx.graph.symbols()) < WIDE
            && !cx.selection.matmul.is_without_tiles();
        if self.groups != 1 || self.transposed || !self.window.0.iter().all(whole) || apart {
            return None;
        }
        let zero = || DimExpr::constant(0);
        let position = joint_stride(&x.shape[2..], &x.strides[2..])?;
        let matrices = |at: &View, batch: DimExpr, row: &DimExpr, col: DimExpr| Matrices {
            at: at.offset.clone(),
            batch: [zero(), batch],
            row: row.clone(),
            col,
        };
        Some(ProductSpace {
            batch: [DimExpr::constant(1), self.batches.clone()],
            m: self.outputs.clone(),
            n: self.window.positions(),
            k: self.channels.clone(),
            a: matrices(w, zero(), &w.strides[0], w.strides[1].clone()),
            b: matrices(x, x.strides[0].clone(), &x.strides[1], position),
            y: matrices(y, y.strides[0].clone(), &y.strides[1], DimExpr::constant(1)),
            rounding: self.rounding,
        })
    }

    /// The step of a convolution that is a product.
    fn multiply(
        &self,
        cx: &mut LowerCx<'_>,
        space: &ProductSpace,
        [x, w, y]: [&Located; 3],
        epilogue: Epilogue,
        meaning: StepMeaning,
        meaning_inputs: &[(Arc<str>, usize)],
    ) -> LowerResult {
        // The left factor is read as words.
        let w = cx.decoded(w)?;
        let w = if w.view.is_words() { w } else { cx.dense_at(&w, "w")? };
        let mut space = space.clone();
        (space.a.row, space.a.col) = (w.view.strides[0].clone(), w.view.strides[1].clone());
        space.a.at = w.view.offset.clone();
        let mut slots = Vec::new();
        for (i, at) in epilogue.slots.iter().enumerate() {
            let [n, _, row, col] =
                self.strides_of(i, &epilogue, &y.view.shape).ok_or("a slot walks its positions apart")?;
            let over = Matrices { at: at.view.offset.clone(), batch: [DimExpr::constant(0), n], row, col };
            slots.push(SlotView { at: at.clone(), over });
        }
        let epilogue = product::Epilogue { fill: epilogue.fill, slots, operands: epilogue.operands };
        // The factors of the product are weights and operand, in this order.
        let names: Vec<(Arc<str>, usize)> = meaning_inputs
            .iter()
            .map(|(name, i)| (Arc::clone(name), if *i < 2 { 1 - *i } else { *i }))
            .collect();
        product::emit(cx, &space, [&w, x, y], epilogue, meaning, &names)
    }

    /// The tile that a convolution takes as a product; none where it is no product.
    fn tile(&self, cx: &LowerCx<'_>, w: &Located) -> Option<Tile> {
        let symbols = cx.graph.symbols();
        let up = |d: &DimExpr| d.upper(symbols).max(1);
        let whole = self.window.0.iter().all(|a| a.extent.lower(symbols) >= 1 && a.up == 1 && a.dilation > 0);
        // Groups of few outputs would leave most rows of a tile empty.
        let narrow = self.groups > 1 && self.outputs.upper(symbols) < ROWS;
        if self.transposed || !whole || narrow || self.channels.lower(symbols) == 0 {
            return None;
        }
        let product = ProductExtents {
            m: up(&self.outputs),
            n: up(&self.batches).saturating_mul(up(&self.window.positions())),
            k: up(&self.channels).saturating_mul(self.window.taps()),
            batches: self.groups,
            b_along_k: false,
            b_words: true,
            b_blocks: false,
            precision: self.rounding.precision(),
        };
        let choice = cx.selection.matmul.tile(&product, cx.target)?;
        let twins = ConvTile::DECL.variants.iter().map(|v| (v.name, ConvTile::DECL.roles_of(v, &[])));
        let (variant, roles) = twins.into_iter().find(|(_, roles)| *roles == choice.roles)?;
        // Weights that are there before the program runs are repacked once.
        let buffer = cx.draft.contents[w.content.0 as usize].buffer;
        let known = cx.draft.buffers[buffer.0 as usize].home.is_load_time();
        let tap_major =
            known && self.window.taps() > 1 && self.channels.divisor(symbols).is_multiple_of(roles.step);
        Some(Tile { variant, roles, tap_major, scalar: choice.number(SCALAR) == 1 })
    }
}

/// A tile for a convolution.
struct Tile {
    variant: &'static str,
    roles: Roles,
    /// Weights are better read one by one.
    scalar: bool,
    /// Whether k counts taps and then channels, so that all terms of a step are under one tap.
    tap_major: bool,
}

impl Tile {
    /// The weights over groups, outputs and k.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &Located) -> LowerResult<Weights> {
        let at = if self.tap_major { tap_major(cx, w)? } else { cx.decoded(w)? };
        let (shape, strides) = (&at.view.shape, &at.view.strides);
        let k = match self.tap_major {
            true => Some(DimExpr::constant(1)),
            false => joint_stride(&shape[1..], &strides[1..]),
        };
        // Groups of four 16-bit elements must lie on 8 bytes; an offset could break that.
        let halves = float_storage(&at.view) != FloatStorage::F32;
        let (at, k) = match k {
            Some(k) if !halves || at.view.offset.is(0) => (at, k),
            _ => (cx.dense_at(&at, "w")?, DimExpr::constant(1)),
        };
        let row = at.view.strides[0].clone();
        Ok(Weights { strides: vec![&row * &c.outputs, row, k], at })
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        weights: &Weights,
        [w, x, y]: [Bound; 3],
        view: &View,
    ) -> (CallDraft, DimExpr) {
        let words = c.window.words(cx);
        let symbols = cx.graph.symbols();
        let divides = |e: &DimExpr, by: u64| e.divisor(symbols).is_multiple_of(by);
        let (k, columns) = (&c.channels * c.window.taps(), &c.batches * c.window.positions());
        let [k_tail, edge] = product::tails(cx, &self.roles, [&c.outputs, &columns, &k]);
        let quads = divides(&c.window.positions(), 4);
        let [kd, kh, kw] = c.window.0.each_ref().map(|a| a.kernel as u32);
        let a_mode = Tile::reads(cx, c, weights, &k) & if self.scalar { 2 } else { 3 };
        let call = ConvTile {
            variant: self.variant,
            a_mode,
            vec_y: u32::from(c.by_quads(cx, view)),
            quads: u32::from(quads),
            k_tail,
            edge,
            tap_major: u32::from(self.tap_major),
            kd,
            kh,
            kw,
            round: product::round(c.rounding),
            batches: cx.arg(&c.batches),
            groups: cx.arg(&c.groups.into()),
            channels: cx.arg(&c.channels),
            outputs: cx.arg(&c.outputs),
            extent: words.extent,
            out: words.out,
            step: words.step,
            dilation: words.dilation,
            begin: words.begin,
            a: w,
            b: x,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let tiles =
            c.outputs.ceil_div(&self.roles.rows.into()) * columns.ceil_div(&self.roles.columns.into());
        (call.into_call(), tiles * c.groups)
    }

    /// How the weights are read.
    fn reads(cx: &LowerCx<'_>, c: &Convolution, weights: &Weights, k: &DimExpr) -> u32 {
        let [group, row, col] = [0, 1, 2].map(|i| weights.strides[i].clone());
        let at = weights.at.view.offset.clone();
        let matrices = Matrices { at, batch: [DimExpr::constant(0), group], row, col };
        product::mode(cx, &matrices, &matrices.col, &matrices.row, k, &c.outputs)
    }
}

/// A copy of the weights in which the channels of a tap lie side by side, seen in the order in which the graph has
/// them.
fn tap_major(cx: &mut LowerCx<'_>, w: &Located) -> LowerResult<Located> {
    let at = cx.decoded(w)?;
    let turned = |v: &[DimExpr]| {
        let mut v = v.to_vec();
        v[1..].rotate_left(1);
        v
    };
    let (shape, strides) = (turned(&at.view.shape), turned(&at.view.strides));
    let packed = cx.dense_at(&restride(&at, shape, strides, at.view.offset.clone()), "w by taps")?;
    let mut strides = packed.view.strides.clone();
    strides[1..].rotate_right(1);
    Ok(restride(&packed, at.view.shape.clone(), strides, packed.view.offset.clone()))
}
