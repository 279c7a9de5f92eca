//! Convolutions as products by tiles: the tile, its groups, how it reads the weights; and the tile of windows, whose
//! right operand is read through the window.

use super::{Convolution, Kernel, Operands, Over, Weights, repacked};
use crate::cx::{LowerCx, LowerResult};
use crate::product::{self, Matrices};
use crate::select::Choice;
use crate::unplaced::PlacedView;
use crate::views::has_aligned_quads;
use crate::window::{Window, Words, by_quads, joint_stride};
use pumice_plan::View;
use pumice_plan::kernel::{CallBuilder, KernelDecl, Roles};
use pumice_plan::kernels::convolution::ConvTile;
use pumice_types::{DimExpr, EncodingClass, Precision, ProductExtents};

impl Convolution {
    /// The variant of a kernel of tiles that is fastest for its products: outputs by the positions of all batches, each
    /// a sum over channels and taps.
    pub(super) fn fastest_tile(&self, cx: &LowerCx<'_>, decl: &'static KernelDecl) -> Option<Choice> {
        let symbols = cx.graph.symbols();
        let up = |d: &DimExpr| d.upper(symbols).max(1);
        let (channels, taps) = (up(&self.channels), self.over.taps_of_one());
        let product = ProductExtents {
            m: up(&self.outputs),
            n: up(&self.batches).saturating_mul(up(&self.over.positions_of_one())),
            k: channels.saturating_mul(taps),
            batches: self.groups.saturating_mul(up(&self.over.products(symbols))),
            b_along_k: false,
            b_stored: EncodingClass::F32,
            precision: self.rounding.precision(),
        };
        // Tiles of phases fill the steps of each tap.
        let filled = |stage: u64| channels.div_ceil(stage).saturating_mul(stage).saturating_mul(taps);
        let terms = |roles: &Roles| match &self.over {
            Over::Window(_) => product.k,
            Over::Phases(_) => filled(roles.least_k.max(1)),
        };
        cx.selection.matmul.tile(&product, cx.target, decl, terms)
    }

    /// Groups of a kernel of tiles.
    pub(super) fn tiles(&self, cx: &LowerCx<'_>, roles: &Roles) -> DimExpr {
        let columns = &self.batches * self.over.positions_of_one();
        let tiles = self.outputs.ceil_div(&roles.rows.into()) * columns.ceil_div(&roles.columns.into());
        tiles * self.groups * self.over.products(cx.graph.symbols())
    }

    /// How a tile reads the weights, which are outputs by k, in each group and perhaps for each tap.
    pub(super) fn weights_mode(
        &self,
        cx: &LowerCx<'_>,
        choice: &Choice,
        weights: &Weights,
        k: &DimExpr,
    ) -> u32 {
        let [group, row, col] = [0, 1, 2].map(|i| weights.strides[i].clone());
        let tap = weights.strides.get(3).cloned().unwrap_or_else(|| DimExpr::constant(0));
        let a = Matrices { at: weights.at.view.offset.clone(), batch: [tap, group], row, col };
        product::mode(cx, &a, [&a.col, &a.row], [k, &self.outputs]) & product::widest_mode(choice)
    }
}

/// A tile for a window.
pub(super) struct Tile {
    choice: Choice,
    /// Whether k counts taps and then channels, so that all terms of a stage have one tap.
    tap_major: bool,
    window: Window,
}

impl Tile {
    /// The tile for a convolution whose window meets elements.
    pub(super) fn of(cx: &LowerCx<'_>, c: &Convolution, window: &Window, w: &PlacedView) -> Option<Tile> {
        let choice = c.fastest_tile(cx, &ConvTile::DECL)?;
        // Weights that are there before the program runs are repacked once.
        let known = cx.unplaced.buffer_of(w.version).class.is_load_time();
        let whole_stages = c.channels.divisor(cx.graph.symbols()).is_multiple_of(choice.roles.least_k);
        Some(Tile { tap_major: known && window.taps() > 1 && whole_stages, choice, window: window.clone() })
    }
}

impl Kernel for Tile {
    fn precision(&self) -> Precision {
        self.choice.roles.precision
    }

    /// The weights over groups, outputs and k.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &PlacedView) -> LowerResult<Weights> {
        let at = if self.tap_major { by_taps(cx, w)? } else { cx.decoded(w)? };
        let (shape, strides) = (&at.view.shape, &at.view.strides);
        let k = match self.tap_major {
            true => Some(DimExpr::constant(1)),
            false => joint_stride(&shape[1..], &strides[1..]),
        };
        let (at, k) = match k {
            Some(k) if has_aligned_quads(&at.view) => (at, k),
            _ => (cx.dense_at(&at, "w")?, DimExpr::constant(1)),
        };
        let row = at.view.strides[0].clone();
        Ok(Weights { strides: vec![&row * &c.outputs, row, k], at })
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        Operands { x, w, y, weights }: Operands,
        [_, view]: [&View; 2],
    ) -> (CallBuilder, DimExpr) {
        let (choice, positions) = (&self.choice, self.window.positions());
        let Words { extent, kernel: _, out, step, dilation, begin } = self.window.words(cx);
        let (k, columns) = (&c.channels * self.window.taps(), &c.batches * &positions);
        let [k_tail, edge] = product::tails(cx, &choice.roles, [&c.outputs, &columns, &k]);
        let [kd, kh, kw] = self.window.0.each_ref().map(|a| a.kernel as u32);
        let [batches, groups, channels, outputs] = c.numbers(cx);
        let call = ConvTile {
            variant: choice.variant.name,
            a_mode: c.weights_mode(cx, choice, &weights, &k),
            vec_y: u32::from(by_quads(cx, &positions, view)),
            quads: u32::from(cx.by_four(&positions)),
            k_tail,
            edge,
            tap_major: u32::from(self.tap_major),
            kd,
            kh,
            kw,
            round: product::round(c.rounding),
            batches,
            groups,
            channels,
            outputs,
            extent,
            out,
            step,
            dilation,
            begin,
            a: w,
            b: x,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (choice.call(call.into_call()), c.tiles(cx, &choice.roles))
    }
}

/// A copy of the weights in which the channels of a tap lie side by side.
fn by_taps(cx: &mut LowerCx<'_>, w: &PlacedView) -> LowerResult<PlacedView> {
    repacked(cx, w, |axes| axes[1..].rotate_left(1), |axes| axes[1..].rotate_right(1))
}
