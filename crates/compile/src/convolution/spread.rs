//! Transposed convolutions by their phases: as products by tiles, or a thread for four positions of a phase.

use super::{Convolution, Kernel, Operands, Weights, repacked};
use crate::cx::{LowerCx, LowerResult};
use crate::phases::{Phases, Words};
use crate::product;
use crate::select::Choice;
use crate::unplaced::PlacedView;
use crate::window::joint_stride;
use pumice_plan::View;
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::convolution::{ConvSpread, ConvSpreadTile};
use pumice_types::{DimExpr, Precision};

/// The call of a kernel of transposed convolutions: all of them take the same arguments.
fn call(
    cx: &mut LowerCx<'_>,
    c: &Convolution,
    phases: &Phases,
    choice: &Choice,
    [x, w, y]: [Bound; 3],
) -> CallBuilder {
    let Words { extent, kernel, out, begin, up, gap, hop, inverse } = phases.words(cx);
    let [batches, groups, channels, outputs] = c.numbers(cx);
    let call = ConvSpread {
        variant: choice.variant.name,
        round: product::round(c.rounding),
        batches,
        groups,
        channels,
        outputs,
        extent,
        kernel,
        out,
        begin,
        up,
        gap,
        hop,
        inverse,
        x,
        w,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    choice.call(call.into_call())
}

/// A tile for the phases of a transposed convolution.
pub(super) struct Tile {
    choice: Choice,
    phases: Phases,
}

impl Tile {
    /// The tile for a convolution whose phases meet elements.
    pub(super) fn of(cx: &LowerCx<'_>, c: &Convolution, phases: &Phases) -> Option<Tile> {
        let choice = c.fastest_tile(cx, &ConvSpreadTile::DECL)?;
        Some(Tile { choice, phases: phases.clone() })
    }
}

impl Kernel for Tile {
    fn precision(&self) -> Precision {
        self.choice.roles.precision
    }

    /// All weights of a tap side by side: the terms of a step of the tile have one tap.
    fn weights(&self, cx: &mut LowerCx<'_>, c: &Convolution, w: &PlacedView) -> LowerResult<Weights> {
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
    ) -> (CallBuilder, DimExpr) {
        let (choice, roles) = (&self.choice, &self.choice.roles);
        // Columns of a phase are counted in the kernel: rows alone may end inside a tile.
        let [k_tail, edge] = product::tails(cx, roles, [&c.outputs, &roles.columns.into(), &c.channels]);
        let a_mode = c.weights_mode(cx, choice, &weights, &c.channels);
        let call = call(cx, c, &self.phases, choice, [x, w, y]);
        let call = call.constant("a_mode", a_mode).constant("k_tail", k_tail).constant("edge", edge);
        (call, c.tiles(cx, roles))
    }
}

/// What was chosen for one that is made directly.
pub(super) struct Direct {
    pub(super) choice: Choice,
    pub(super) phases: Phases,
}

impl Kernel for Direct {
    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        Operands { x, w, y, .. }: Operands,
        _: [&View; 2],
    ) -> (CallBuilder, DimExpr) {
        let quads = self.phases.most().ceil_div(&DimExpr::constant(4));
        let groups = c.groups_of_threads(cx, &self.choice.roles, quads);
        (call(cx, c, &self.phases, &self.choice, [x, w, y]), groups)
    }
}
