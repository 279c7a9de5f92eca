//! Pools: reductions of the elements under a window.

use super::in_place::{self, Reads};
use super::{Lower, LowerResult, host};
use crate::cost;
use crate::cx::{LowerCx, node_meaning};
use crate::draft::Located;
use crate::product::by_four;
use crate::step::StepBuilder;
use crate::window::{Axis, Window, spatial_strides};
use pumice_ir::NodeId;
use pumice_ir::ops::{AveragePool, MaxPool, MinPool, SumPool};
use pumice_plan::kernel::{Bound, CallDraft};
use pumice_plan::kernels::pool::{Pool as PoolKernel, PoolInt};
use pumice_plan::kernels::reduce::op;
use pumice_types::{DType, DimExpr, Precision, WindowAxis};
use std::sync::Arc;

macro_rules! pools {
    ($($Name:ident $code:ident $padded:expr),*) => {$(
        impl Lower for $Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                let padded: fn(&$Name) -> bool = $padded;
                lower(cx, id, op::$code, padded(self), |spatial| self.windows(spatial).ok())
            }

        }
    )*};
}
pools! { MaxPool MAX |_| false, MinPool MIN |_| false, SumPool SUM |_| false, AveragePool MEAN |p| p.count_include_pad }

/// A pool that is not empty.
struct Pool {
    /// One of `kernels::reduce::op`.
    kind: u32,
    /// Whether a mean counts pads.
    padded: bool,
    window: Window,
    dtype: DType,
    shape: Arc<[DimExpr]>,
}

fn lower(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    kind: u32,
    padded: bool,
    windows: impl Fn(usize) -> Option<Vec<WindowAxis>>,
) -> LowerResult {
    let node = cx.graph.node(id);
    let x = node.input(0).ok_or("it has no operand")?;
    let (from, to) = (cx.graph.ty(x).shape.clone(), cx.graph.ty(node.output()).shape.clone());
    let dtype = cx.graph.ty(x).dtype();
    let window = windows(from.len() - 2).and_then(|windows| counted(cx, &windows, [&from, &to]));
    let Some(window) = window.filter(|_| dtype.arena_bytes() == 4) else {
        return host::lower(cx, id);
    };
    let at = cx.at(x)?;
    let at = if at.view.is_words() { at } else { cx.dense(x)? };
    let y = in_place::results(cx, id, Reads { own: &[], shared: &[&at] })?.swap_remove(0);
    if to.iter().any(|d| d.is(0)) {
        return Ok(());
    }
    cx.fits_u32(&pumice_ir::shape::product(&from), "the operand")?;
    cx.fits_u32(&pumice_ir::shape::product(&to), "the result")?;
    Pool { kind, padded, window, dtype, shape: to }.emit(cx, id, &at, &y)
}

/// The window as kernels take it; none where it has more taps than they count in 32 bits, in loops that some drivers
/// end after a number of turns.
fn counted(cx: &LowerCx<'_>, windows: &[WindowAxis], [from, to]: [&[DimExpr]; 2]) -> Option<Window> {
    let axes = windows.iter().zip(from[2..].iter().zip(&to[2..]));
    let window =
        Window::new(axes.map(|(w, (extent, out))| Axis::of(w, extent, out)).collect::<Option<_>>()?)?;
    let taps = window.taps();
    let turns = taps.saturating_add(taps / 32 + 32);
    (taps <= u64::from(u32::MAX >> 2) && cx.target.limits.lets_turn(turns)).then_some(window)
}

impl Pool {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId, x: &Located, y: &Located) -> LowerResult {
        let mut step = StepBuilder::new();
        let [d, h, w] = spatial_strides(&x.view, 2);
        let strides = |at: &Located| [at.view.strides[0].clone(), at.view.strides[1].clone()];
        let [n, c] = strides(x);
        let bound = [step.read(0, x).along([n, c, d, h, w]), step.write(y).along(strides(y))];
        let (call, threads) = match self.dtype.is_float() {
            true => self.floats(cx, bound, y)?,
            false => self.integers(cx, bound),
        };
        let (positions, taps) = (self.window.positions(), self.window.taps().into());
        let sums = cost::product([&self.lines(), &positions, &taps], cx.graph.symbols());
        step.flops(sums, Precision::Exact);
        let grid = cx.grid(&threads.ceil_div(&DimExpr::constant(64)))?;
        let meaning = node_meaning(cx, id)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// The call for floats and its threads.
    fn floats(
        &self,
        cx: &mut LowerCx<'_>,
        [x, y]: [Bound; 2],
        at: &Located,
    ) -> LowerResult<(CallDraft, DimExpr)> {
        let positions = self.window.positions();
        let stored = [&positions, &at.view.offset, &at.view.strides[0], &at.view.strides[1]];
        let vec_y = u32::from(stored.into_iter().all(|e| by_four(cx, e)));
        let words = self.window.words(cx);
        let call = PoolKernel {
            variant: PoolKernel::plain,
            op: self.kind,
            padded: u32::from(self.padded),
            vec_y,
            batches: cx.arg(&self.shape[0]),
            channels: cx.arg(&self.shape[1]),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            step: words.step,
            dilation: words.dilation,
            begin: words.begin,
            end: self.window.ends(cx),
            x,
            y,
            slots: Vec::new(),
            holes: crate::rows::rounding(self.dtype, "epilogue")?,
        };
        Ok((call.into_call(), self.lines() * positions.ceil_div(&DimExpr::constant(4))))
    }

    /// The call for integers and its threads.
    fn integers(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2]) -> (CallDraft, DimExpr) {
        let words = self.window.words(cx);
        let call = PoolInt {
            variant: PoolInt::plain,
            op: self.kind,
            signed: u32::from(self.dtype.is_signed()),
            bits: self.dtype.bits().min(32),
            batches: cx.arg(&self.shape[0]),
            channels: cx.arg(&self.shape[1]),
            extent: words.extent,
            kernel: words.kernel,
            out: words.out,
            step: words.step,
            dilation: words.dilation,
            begin: words.begin,
            end: self.window.ends(cx),
            x,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (call.into_call(), self.lines() * self.window.positions())
    }

    /// Channels of all batches.
    fn lines(&self) -> DimExpr {
        &self.shape[0] * &self.shape[1]
    }
}
