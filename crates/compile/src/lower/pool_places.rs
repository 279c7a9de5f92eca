//! `PoolPlaces`: where the extremes under windows are, by a kernel that takes what that of pools takes.

use super::pool::{counted, five_strides};
use super::{Lower, host};
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use crate::window::{Window, by_quads};
use pumice_ir::ops::PoolPlaces;
use pumice_ir::shape::product;
use pumice_ir::{NodeId, ValueId};
use pumice_plan::kernel::Bound;
use pumice_plan::kernels::pool::PoolPlaces as Kernel;
use pumice_types::DimExpr;

impl Lower for PoolPlaces {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = node.input(0).ok_or("it has no operand")?;
        let Some(window) = window(self, cx, [x, node.output()]) else { return host::lower(cx, id) };
        let (x, y) = (cx.words(x)?, cx.result(node.output())?);
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&x.view.shape), "the operand")?;
        cx.fits_u32(&product(&y.view.shape), "the result")?;
        step(cx, id, (self, &window), [&x, &y])
    }
}

/// The window as kernels take it, if they do.
fn window(op: &PoolPlaces, cx: &LowerCx<'_>, [x, y]: [ValueId; 2]) -> Option<Window> {
    let [from, to] = [x, y].map(|v| &cx.graph.ty(v).shape[..]);
    counted(cx, &op.windows(from.len() - 2).ok()?, [from, to])
}

fn step(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    (op, window): (&PoolPlaces, &Window),
    [x, y]: [&PlacedView; 2],
) -> LowerResult {
    let (mut step, positions) = (StepBuilder::new(), window.positions());
    let bound = [step.read(0, x).along(five_strides(&x.view)), step.write(y)];
    let options = [u32::from(op.smallest), u32::from(by_quads(cx, &positions, &y.view))];
    let outer = [&y.view.shape[0], &y.view.shape[1]];
    let call = call(cx, options, window, bound, outer);
    let quads = positions.ceil_div(&DimExpr::constant(4));
    let groups = (outer[0] * outer[1] * quads).ceil_div(&DimExpr::constant(64));
    step.dispatch_node(cx, id, call.into_call(), &groups)
}

/// The call, by whether the smallest are meant and results are stored by fours.
fn call(
    cx: &mut LowerCx<'_>,
    [smallest, vec_y]: [u32; 2],
    window: &Window,
    [x, places]: [Bound; 2],
    outer: [&DimExpr; 2],
) -> Kernel {
    let words = window.words(cx);
    let [batches, channels] = outer.map(|n| cx.arg(n));
    Kernel {
        variant: Kernel::plain,
        smallest,
        vec_y,
        batches,
        channels,
        extent: words.extent,
        kernel: words.kernel,
        out: words.out,
        step: words.step,
        dilation: words.dilation,
        begin: words.begin,
        end: window.pad_ends(cx),
        x,
        places,
        slots: Vec::new(),
        holes: Vec::new(),
    }
}
