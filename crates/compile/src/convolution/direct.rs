//! The kernel that makes any convolution: a thread has four positions of some outputs.

use super::{Convolution, Kernel, Operands, Weights};
use crate::cx::{LowerCx, LowerResult};
use crate::draft::Located;
use crate::product::by_four;
use crate::select::Choice;
use crate::window::Window;
use pumice_plan::View;
use pumice_plan::kernel::CallDraft;
use pumice_plan::kernels::convolution::ConvDirect;
use pumice_types::DimExpr;

/// What was chosen for a convolution.
pub(super) struct Direct {
    pub(super) choice: Choice,
    pub(super) window: Window,
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
        view: &View,
    ) -> (CallDraft, DimExpr) {
        let words = self.window.words(cx);
        let call = ConvDirect {
            variant: self.choice.variant.name,
            vec_y: u32::from(by_quads(cx, &self.window, view)),
            batches: cx.arg(&c.batches),
            groups: cx.arg(&c.groups.into()),
            channels: cx.arg(&c.channels),
            outputs: cx.arg(&c.outputs),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            step: words.step,
            dilation: words.dilation,
            begin: words.begin,
            x,
            w,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let quads = self.window.positions().ceil_div(&DimExpr::constant(4));
        let threads = &c.batches * c.groups * c.outputs.ceil_div(&self.choice.roles.rows.into()) * quads;
        (self.choice.call(call.into_call()), threads.ceil_div(&DimExpr::constant(64)))
    }
}

/// Whether four neighbouring positions are stored at once.
pub(super) fn by_quads(cx: &LowerCx<'_>, window: &Window, y: &View) -> bool {
    let positions = window.positions();
    [&positions, &y.offset, &y.strides[0], &y.strides[1]].into_iter().all(|e| by_four(cx, e))
}
