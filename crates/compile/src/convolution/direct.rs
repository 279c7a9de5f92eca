//! Convolutions made directly: a thread has four positions of some outputs.

use super::{Convolution, Kernel, Operands};
use crate::cx::LowerCx;
use crate::product;
use crate::select::Choice;
use crate::window::{Window, Words, by_quads, spatial_strides};
use pumice_plan::View;
use pumice_plan::kernel::{CallBuilder, Roles};
use pumice_plan::kernels::convolution::ConvDirect;
use pumice_types::DimExpr;

/// What was chosen for a convolution.
pub(super) struct Direct {
    pub(super) choice: Choice,
    pub(super) window: Window,
}

impl Kernel for Direct {
    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        c: &Convolution,
        Operands { x, w, y, .. }: Operands,
        [from, view]: [&View; 2],
    ) -> (CallBuilder, DimExpr) {
        let Words { extent, kernel, out, step, dilation, begin } = self.window.words(cx);
        let lines = self.lines(cx, from);
        let by_lines = self.choice.roles.by_lines;
        let along = if by_lines { self.window.0[2].out.clone() } else { self.window.positions() };
        let [batches, groups, channels, outputs] = c.numbers(cx);
        let call = ConvDirect {
            variant: self.choice.variant.name,
            vec_y: u32::from(by_quads(cx, &along, view)),
            round: product::round(c.rounding),
            batches,
            groups,
            channels,
            outputs,
            extent,
            kernel,
            out,
            step,
            dilation,
            begin,
            x,
            w,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let call = self.choice.call(call.into_call());
        let call = lines.into_iter().fold(call, |call, (name, value)| call.constant(name, value));
        let quads = along.ceil_div(&DimExpr::constant(4));
        let others = self.window.0[..2].iter().fold(DimExpr::constant(1), |n, a| n * &a.out);
        let quads = if by_lines { others * quads } else { quads };
        (call, c.groups_of_threads(cx, &self.choice.roles, quads))
    }
}

impl Convolution {
    /// Groups of 64 threads, each of which makes some outputs of a quad of positions, or groups that share these; of
    /// each product there are so many quads.
    pub(super) fn groups_of_threads(&self, cx: &LowerCx<'_>, roles: &Roles, quads: DimExpr) -> DimExpr {
        let blocks = self.outputs.ceil_div(&roles.rows.into());
        let products = self.over.products(cx.graph.symbols());
        let threads = &self.batches * self.groups * blocks * products * quads;
        if roles.threads > 0 { threads } else { threads.ceil_div(&DimExpr::constant(64)) }
    }
}

impl Direct {
    /// Constants of a kernel that makes columns of one line: the window along the last axis, and how it reads x.
    fn lines(&self, cx: &LowerCx<'_>, x: &View) -> Vec<(&'static str, u32)> {
        if !self.choice.roles.by_lines {
            return Vec::new();
        }
        let last = &self.window.0[2];
        let [d, h, w] = spatial_strides(x, 2);
        let apart = [&last.extent, &x.offset, &x.strides[0], &x.strides[1], &d, &h];
        let quads = w.is(1) && apart.into_iter().all(|e| cx.by_four(e));
        let begin = last.begin.as_const().filter(|_| quads);
        let shift = begin.map_or(0, |begin| begin.wrapping_neg().rem_euclid(4) as u32);
        vec![
            ("vec_x", u32::from(begin.is_some())),
            ("taps_w", last.kernel as u32),
            ("step_w", last.step as u32),
            ("shift", shift),
        ]
    }
}
