//! Convolutions: operands as batches, groups, channels and three spatial axes; the kernel; the epilogue.

mod direct;
mod product;
mod spread;
mod tile;

use crate::cost;
use crate::cx::{LowerCx, LowerResult};
use crate::elementwise;
use crate::hole::{Filled, Meant};
use crate::phases::Phases;
use crate::select::convolution::{Extents, PRODUCT, TILE};
use crate::select::{Choice, NO_KERNEL};
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::{broadcast_strides, has_aligned_quads, restride};
use crate::window::{Window, joint_stride, spatial_strides};
use pumice_ir::ValueType;
use pumice_ir::ops::Rounding;
use pumice_ir::shape::product as elements;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::{Access, Storage, View};
use pumice_types::{DimExpr, Precision, SymbolTable};
use smallvec::SmallVec;

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
    pub over: Over,
    /// To what operand and weights are rounded when they are loaded.
    pub rounding: Rounding,
}

/// What a convolution sums over at each position.
pub enum Over {
    /// A window; weights are [outputs, channels, taps…].
    Window(Window),
    /// The taps of the position's phase: a transposed convolution, whose weights are [channels, outputs, taps…].
    Phases(Phases),
}

impl Over {
    /// Whether the operand has an element along every spatial axis, whatever symbols are.
    fn has_elements(&self, symbols: &SymbolTable) -> bool {
        match self {
            Over::Window(window) => window.has_elements(symbols),
            Over::Phases(phases) => phases.has_elements(symbols),
        }
    }

    /// Positions in all.
    fn positions(&self) -> DimExpr {
        match self {
            Over::Window(window) => window.positions(),
            Over::Phases(phases) => phases.positions(),
        }
    }

    /// How many products it falls into: phases.
    fn products(&self, symbols: &SymbolTable) -> DimExpr {
        match self {
            Over::Window(_) => DimExpr::constant(1),
            Over::Phases(phases) => phases.count(symbols),
        }
    }

    /// The most positions of one of these products.
    fn positions_of_one(&self) -> DimExpr {
        match self {
            Over::Window(window) => window.positions(),
            Over::Phases(phases) => phases.most(),
        }
    }

    /// The most taps that a position meets.
    fn taps_of_one(&self) -> u64 {
        match self {
            Over::Window(window) => window.taps(),
            Over::Phases(phases) => phases.taps_of_one(),
        }
    }
}

/// A kernel that was chosen for a convolution.
trait Kernel {
    /// The weights as it reads them.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &PlacedView) -> LowerResult<Weights> {
        c.weights(cx, w)
    }

    /// In what it multiplies.
    fn precision(&self) -> Precision {
        Precision::Exact
    }

    /// The call, by the views of operand and result, and its groups.
    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        bound: Operands,
        views: [&View; 2],
    ) -> (CallBuilder, DimExpr);
}

/// What a call binds.
struct Operands {
    x: Bound,
    w: Bound,
    y: Bound,
    /// The weights over which `w` walks.
    weights: Weights,
}

/// What happens to each element before it is stored.
pub struct Epilogue {
    /// The hole.
    pub hole: Filled,
    /// Whether the first of its slots is the bias, one number for each channel.
    pub bias: bool,
}

/// Weights as a kernel sees them.
struct Weights {
    at: PlacedView,
    strides: Vec<DimExpr>,
}

/// Adds the step of a convolution, whose kernel has two operands: operand and weights.
///
/// # Errors
/// Extents beyond what kernels count, an epilogue over axes that are walked apart.
pub fn emit(
    cx: &mut LowerCx<'_>,
    conv: &Convolution,
    [x, w, y]: [&PlacedView; 3],
    epilogue: Epilogue,
    meant: Meant,
) -> LowerResult {
    if y.is_empty() {
        return Ok(());
    }
    cx.fits_u32(&elements(&y.view.shape), "the result")?;
    cx.fits_u32(&elements(&x.view.shape), "the operand")?;
    let space = conv.product([&x.view, &w.view, &y.view]);
    let tile = conv.tile(cx, w);
    let able = [space.as_ref().map(|_| PRODUCT), tile.as_ref().map(|_| TILE)];
    let able: SmallVec<[&str; 2]> = able.into_iter().flatten().collect();
    let extents = conv.extents(cx.graph.symbols());
    let method = cx.selection.convolution.method(&extents, &able, cx.target);
    if let Some(space) = space.filter(|_| method == PRODUCT) {
        return conv.multiply(cx, space, [x, w, y], epilogue, meant);
    }
    let kernel = match tile.filter(|_| method == TILE) {
        Some(tile) => tile,
        None => conv.direct(cx.selection.convolution.direct(&extents, cx.target).ok_or(NO_KERNEL)?),
    };
    conv.convolve(cx, &*kernel, [x, w, y], epilogue, meant)
}

/// An operand of an epilogue as words whose spatial axes are walked as one, over a result of that shape.
pub fn slot(cx: &mut LowerCx<'_>, at: &PlacedView, shape: &[DimExpr]) -> LowerResult<PlacedView> {
    let at = cx.words_at(at, "epilogue")?;
    let strides = broadcast_strides(&at.view, shape);
    if joint_stride(&shape[2..], &strides[2..]).is_some() {
        return Ok(at);
    }
    let ty = ValueType::new(at.view.dtype, shape.to_vec());
    let to = cx.alloc("broadcast", StorageClass::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(
        cx,
        &at,
        &to,
        "an epilogue walks the positions of a convolution as one axis",
    )?;
    Ok(to)
}

/// Strides of a slot over batches, channels and the positions of a result of that shape.
///
/// # Errors
/// Positions that are not walked as one axis; [`slot`] gives none.
pub fn strides_over(view: &View, shape: &[DimExpr]) -> LowerResult<[DimExpr; 3]> {
    let strides = broadcast_strides(view, shape);
    let position = joint_stride(&shape[2..], &strides[2..]).ok_or("a slot walks its positions apart")?;
    Ok([strides[0].clone(), strides[1].clone(), position])
}

impl Convolution {
    /// Batches, groups, channels and outputs, which all kernels take.
    fn numbers(&self, cx: &mut LowerCx<'_>) -> [ArgValue; 4] {
        let groups = self.groups.into();
        [&self.batches, &groups, &self.channels, &self.outputs].map(|n| cx.arg(n))
    }

    /// What selection asks about, by upper bounds.
    fn extents(&self, symbols: &SymbolTable) -> Extents {
        let up = |d: &DimExpr| d.upper(symbols);
        let last = match &self.over {
            Over::Window(window) => [window.0[2].kernel, window.0[2].step, window.0[2].dilation],
            Over::Phases(_) => [0; 3],
        };
        Extents {
            batches: up(&self.batches),
            groups: self.groups,
            channels: up(&self.channels),
            outputs: up(&self.outputs),
            positions: up(&self.over.positions()),
            taps: self.over.taps_of_one(),
            transposed: matches!(self.over, Over::Phases(_)),
            last,
        }
    }

    /// The tile that takes it as a product; none where the target has no tiles, or what a tile reads in place of what
    /// is outside may not be there.
    fn tile(&self, cx: &LowerCx<'_>, w: &PlacedView) -> Option<Box<dyn Kernel>> {
        let symbols = cx.graph.symbols();
        if self.channels.lower(symbols) == 0 || !self.over.has_elements(symbols) {
            return None;
        }
        Some(match &self.over {
            Over::Window(window) => Box::new(tile::Tile::of(cx, self, window, w)?),
            Over::Phases(phases) => Box::new(spread::Tile::of(cx, self, phases)?),
        })
    }

    /// The kernel that was chosen for what is made directly.
    fn direct(&self, choice: Choice) -> Box<dyn Kernel> {
        match &self.over {
            Over::Window(window) => Box::new(direct::Direct { choice, window: window.clone() }),
            Over::Phases(phases) => Box::new(spread::Direct { choice, phases: phases.clone() }),
        }
    }

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

    /// Strides of the slot of that number over batches, groups, outputs and positions; a bias varies with the channel
    /// alone.
    fn slot_strides(&self, view: &View, is_bias: bool, shape: &[DimExpr]) -> LowerResult<[DimExpr; 4]> {
        if is_bias {
            let (none, channel) = (DimExpr::constant(0), view.strides[0].clone());
            return Ok([none.clone(), &channel * &self.outputs, channel, none]);
        }
        let [batch, channel, position] = strides_over(view, shape)?;
        Ok([batch, &channel * &self.outputs, channel, position])
    }

    /// The step of a convolution by a kernel of its own.
    fn convolve(
        &self,
        cx: &mut LowerCx<'_>,
        kernel: &dyn Kernel,
        [x, w, y]: [&PlacedView; 3],
        Epilogue { hole, bias }: Epilogue,
        Meant { meaning, inputs }: Meant,
    ) -> LowerResult {
        let weights = kernel.weights(cx, self, w)?;
        let mut step = StepBuilder::new();
        let x_bound = step.touch(x, Access::ShaderRead).along(self.operand_strides(&x.view));
        let w_bound = step.touch(&weights.at, Access::ShaderRead).along(weights.strides.clone());
        let along =
            |i: usize, view: &View| Ok(self.slot_strides(view, bias && i == 0, &y.view.shape)?.into());
        let (y_bound, slots) = step.through(&hole, &[&x_bound, &w_bound], y, &inputs, along)?;
        let y_bound = y_bound.along(self.result_strides(&y.view));
        step.flops(self.flops(cx), kernel.precision());
        let bound = Operands { x: x_bound, w: w_bound, y: y_bound, weights };
        let (call, groups) = kernel.call(cx, self, bound, [&x.view, &y.view]);
        let call = call.holes(slots, hole.fill.into_iter().collect());
        cx.fits_u32(&(&groups * 64), "the grid")?;
        let grid = cx.grid(&groups)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// The weights over groups, outputs, channels and taps, which are walked as one axis; in words or 16-bit floats.
    fn weights(&self, cx: &mut LowerCx<'_>, w: &PlacedView) -> LowerResult<Weights> {
        let at = cx.decoded(w)?;
        let taps = joint_stride(&at.view.shape[2..], &at.view.strides[2..]);
        let (at, tap) = match taps {
            Some(tap) if has_aligned_quads(&at.view) => (at, tap),
            _ => (cx.dense_at(&at, "w")?, DimExpr::constant(1)),
        };
        Ok(self.weights_at(at, tap))
    }

    /// Weights whose taps lie so far apart.
    fn weights_at(&self, at: PlacedView, tap: DimExpr) -> Weights {
        let [first, second] = [0, 1].map(|d| at.view.strides[d].clone());
        let strides = match &self.over {
            Over::Window(_) => [&first * &self.outputs, first, second, tap],
            Over::Phases(_) => [&first * &self.channels, second, first, tap],
        };
        Weights { at, strides: strides.into() }
    }

    /// Positions, and the taps that a result of each meets.
    fn places(&self) -> (DimExpr, u64) {
        match &self.over {
            Over::Window(window) => (window.positions(), window.taps()),
            // Every element of the operand meets every tap once.
            Over::Phases(phases) => (phases.elements(), phases.taps()),
        }
    }

    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let (places, taps) = self.places();
        let (two, groups, taps) = (DimExpr::constant(2), self.groups.into(), taps.into());
        let all = [&two, &self.batches, &groups, &self.channels, &self.outputs, &taps, &places];
        cost::product(all, cx.graph.symbols())
    }
}

/// A copy of the weights whose axes lie in the order that `permute` gives them, viewed in the order in which the graph
/// has them; `undo` is its inverse.
fn repacked(
    cx: &mut LowerCx<'_>,
    w: &PlacedView,
    permute: fn(&mut [DimExpr]),
    undo: fn(&mut [DimExpr]),
) -> LowerResult<PlacedView> {
    let at = cx.decoded(w)?;
    let (mut shape, mut strides) = (at.view.shape.to_vec(), at.view.strides.to_vec());
    permute(&mut shape);
    permute(&mut strides);
    let packed = cx.dense_at(&restride(&at, shape, strides, at.view.offset.clone()), "w by taps")?;
    let mut strides = packed.view.strides.to_vec();
    undo(&mut strides);
    Ok(restride(&packed, at.view.shape.clone(), strides, packed.view.offset.clone()))
}
