//! Transposed convolutions by their phases: as products by tiles, or a thread for four positions of a phase.

use super::{Convolution, Kernel, Operands, Weights, repacked};
use crate::cx::{LowerCx, LowerResult};
use crate::draft::Located;
use crate::phases::Phases;
use crate::product::{self, Matrices};
use crate::select::Choice;
use crate::select::matmul::SCALAR;
use crate::window::joint_stride;
use pumice_plan::View;
use pumice_plan::kernel::CallDraft;
use pumice_plan::kernels::convolution::{ConvSpread, ConvSpreadTile};
use pumice_types::{DimExpr, Precision};

/// A tile for the phases of a transposed convolution.
pub(super) struct Tile {
    choice: Choice,
    phases: Phases,
}

/// The tile for a convolution.
pub(super) fn tile(cx: &LowerCx<'_>, c: &Convolution, phases: &Phases) -> Option<Tile> {
    let symbols = cx.graph.symbols();
    let up = |d: &DimExpr| d.upper(symbols).max(1);
    if !phases.has_elements(symbols) {
        return None;
    }
    let columns = up(&c.batches).saturating_mul(up(&phases.most()));
    let products = up(&phases.count(symbols));
    let choice = c.fastest_tile(cx, &ConvSpreadTile::DECL, [products, columns], phases.taps_of_one())?;
    Some(Tile { choice, phases: phases.clone() })
}

impl Kernel for Tile {
    fn precision(&self) -> Precision {
        self.choice.roles.precision
    }

    /// All weights of a tap side by side: a step of the tile is under one.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &Located) -> LowerResult<Weights> {
        let at = repacked(cx, w, |axes| axes.rotate_left(2), |axes| axes.rotate_right(2))?;
        let tap = joint_stride(&at.view.shape[2..], &at.view.strides[2..]).ok_or("taps lie apart")?;
        Ok(c.weights_at(at, tap))
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        Operands { x, w, y, weights }: Operands,
        _: [&View; 2],
    ) -> (CallDraft, DimExpr) {
        let words = self.phases.words(cx);
        let symbols = cx.graph.symbols();
        let step = self.choice.roles.least_k;
        let k_tail = match c.channels.divisor(symbols).is_multiple_of(step) {
            true => 0,
            false if c.channels.lower(symbols) >= step => 2,
            false => 1,
        };
        let edge = !c.outputs.divisor(symbols).is_multiple_of(self.choice.roles.rows);
        let call = ConvSpreadTile {
            variant: self.choice.variant.name,
            a_mode: reads(cx, c, &weights) & if self.choice.number(SCALAR) == 1 { 2 } else { 3 },
            k_tail,
            edge: u32::from(edge),
            round: product::round(c.rounding),
            batches: cx.arg(&c.batches),
            groups: cx.arg(&c.groups.into()),
            channels: cx.arg(&c.channels),
            outputs: cx.arg(&c.outputs),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            begin: words.begin,
            up: words.up,
            gap: words.gap,
            hop: words.hop,
            inverse: words.inverse,
            x,
            w,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let columns = &c.batches * self.phases.most();
        let tiles = c.outputs.ceil_div(&self.choice.roles.rows.into())
            * columns.ceil_div(&self.choice.roles.columns.into());
        (call.into_call(), tiles * c.groups * self.phases.count(cx.graph.symbols()))
    }
}

/// How the weights of a tap are read.
fn reads(cx: &LowerCx<'_>, c: &Convolution, weights: &Weights) -> u32 {
    let [group, row, col, tap] = [0, 1, 2, 3].map(|i| weights.strides[i].clone());
    let matrices = Matrices { at: weights.at.view.offset.clone(), batch: [tap, group], row, col };
    product::mode(cx, &matrices, &matrices.col, &matrices.row, &c.channels, &c.outputs)
}

/// What was chosen for one that is made directly.
pub(super) struct Direct {
    pub(super) choice: Choice,
    pub(super) phases: Phases,
}

impl Kernel for Direct {
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &Located) -> LowerResult<Weights> {
        c.weights(cx, w)
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        Operands { x, w, y, .. }: Operands,
        _: [&View; 2],
    ) -> (CallDraft, DimExpr) {
        let words = self.phases.words(cx);
        let call = ConvSpread {
            variant: self.choice.variant.name,
            round: product::round(c.rounding),
            batches: cx.arg(&c.batches),
            groups: cx.arg(&c.groups.into()),
            channels: cx.arg(&c.channels),
            outputs: cx.arg(&c.outputs),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            begin: words.begin,
            up: words.up,
            gap: words.gap,
            hop: words.hop,
            inverse: words.inverse,
            x,
            w,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let quads = self.phases.most().ceil_div(&DimExpr::constant(4));
        let blocks = c.outputs.ceil_div(&self.choice.roles.rows.into());
        let threads = &c.batches * c.groups * blocks * self.phases.count(cx.graph.symbols()) * quads;
        (self.choice.call(call.into_call()), threads.ceil_div(&DimExpr::constant(64)))
    }
}
