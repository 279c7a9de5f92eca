//! Convolutions as a product by tiles, whose right operand is read through the window.

use super::direct::by_quads;
use super::{Convolution, Kernel, Operands, Weights, repacked};
use crate::cx::{LowerCx, LowerResult, float_storage};
use crate::draft::Located;
use crate::product::{self, Matrices};
use crate::select::Choice;
use crate::select::matmul::SCALAR;
use crate::window::{Window, joint_stride};
use pumice_plan::View;
use pumice_plan::kernel::{CallDraft, FloatStorage};
use pumice_plan::kernels::convolution::ConvTile;
use pumice_types::{DimExpr, Precision};

/// A tile for a convolution.
pub(super) struct Tile {
    choice: Choice,
    /// Whether k counts taps and then channels, so that all terms of a step are under one tap.
    tap_major: bool,
    window: Window,
}

impl Kernel for Tile {
    fn precision(&self) -> Precision {
        self.choice.roles.precision
    }

    /// The weights over groups, outputs and k.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &Located) -> LowerResult<Weights> {
        let at = if self.tap_major { by_taps(cx, w)? } else { cx.decoded(w)? };
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
        Operands { x, w, y, weights }: Operands,
        [_, view]: [&View; 2],
    ) -> (CallDraft, DimExpr) {
        let window = &self.window;
        let words = window.words(cx);
        let symbols = cx.graph.symbols();
        let divides = |e: &DimExpr, by: u64| e.divisor(symbols).is_multiple_of(by);
        let (k, columns) = (&c.channels * window.taps(), &c.batches * window.positions());
        let [k_tail, edge] = product::tails(cx, &self.choice.roles, [&c.outputs, &columns, &k]);
        let quads = divides(&window.positions(), 4);
        let [kd, kh, kw] = window.0.each_ref().map(|a| a.kernel as u32);
        let a_mode = reads(cx, c, &weights, &k) & if self.choice.number(SCALAR) == 1 { 2 } else { 3 };
        let call = ConvTile {
            variant: self.choice.variant.name,
            a_mode,
            vec_y: u32::from(by_quads(cx, &window.positions(), view)),
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
        let tiles = c.outputs.ceil_div(&self.choice.roles.rows.into())
            * columns.ceil_div(&self.choice.roles.columns.into());
        (call.into_call(), tiles * c.groups)
    }
}

/// How the weights are read.
fn reads(cx: &LowerCx<'_>, c: &Convolution, weights: &Weights, k: &DimExpr) -> u32 {
    let [group, row, col] = [0, 1, 2].map(|i| weights.strides[i].clone());
    let at = weights.at.view.offset.clone();
    let matrices = Matrices { at, batch: [DimExpr::constant(0), group], row, col };
    product::mode(cx, &matrices, &matrices.col, &matrices.row, k, &c.outputs)
}

/// A copy of the weights in which the channels of a tap lie side by side.
fn by_taps(cx: &mut LowerCx<'_>, w: &Located) -> LowerResult<Located> {
    repacked(cx, w, |axes| axes[1..].rotate_left(1), |axes| axes[1..].rotate_right(1))
}

/// The tile that a convolution takes as a product; none where it is no product.
pub(super) fn choose(cx: &LowerCx<'_>, c: &Convolution, window: &Window, w: &Located) -> Option<Tile> {
    let symbols = cx.graph.symbols();
    let up = |d: &DimExpr| d.upper(symbols).max(1);
    let whole = window.0.iter().all(|a| a.extent.lower(symbols) >= 1);
    if !whole {
        return None;
    }
    let columns = up(&c.batches).saturating_mul(up(&window.positions()));
    let choice = c.fastest_tile(cx, &ConvTile::DECL, [1, columns], window.taps())?;
    // Weights that are there before the program runs are repacked once.
    let buffer = cx.draft.contents[w.content.0 as usize].buffer;
    let known = cx.draft.buffers[buffer.0 as usize].home.is_load_time();
    let whole_steps = c.channels.divisor(symbols).is_multiple_of(choice.roles.step);
    Some(Tile { tap_major: known && window.taps() > 1 && whole_steps, choice, window: window.clone() })
}
