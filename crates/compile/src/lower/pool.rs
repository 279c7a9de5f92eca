//! Pools: reductions of the elements under a window, alone or with the elementwise nodes that follow them.

use super::anchor::Hole;
use super::in_place::{self, Reads};
use super::{Lower, LowerResult, host};
use crate::convolution::{self, strides_over};
use crate::cost;
use crate::cx::LowerCx;
use crate::fused_body::FusedBody;
use crate::hole::{Filled, Meant};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use crate::window::{Axis, Window, by_quads, spatial_strides};
use pumice_ir::ops::{AveragePool, MaxPool, MinPool, ProdPool, SumPool};
use pumice_ir::{Graph, Node, NodeId};
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::pool::{Pool as PoolKernel, PoolInt};
use pumice_plan::kernels::reduce::op;
use pumice_plan::{Access, View};
use pumice_types::{DType, DimExpr, Precision, WindowAxis, slots};
use std::sync::Arc;

macro_rules! pools {
    ($($Name:ident $code:ident $padded:expr),*) => {$(
        impl Lower for $Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                self.lower_fused(cx, id, &FusedBody::alone(cx, id))
            }

            fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
                hole(graph, node, |spatial| self.windows(spatial).ok())
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
                let padded: fn(&$Name) -> bool = $padded;
                lower(cx, id, fused, (op::$code, padded(self)), |spatial| self.windows(spatial).ok())
            }
        }
    )*};
}
pools! { MaxPool MAX |_| false, MinPool MIN |_| false, SumPool SUM |_| false, ProdPool PROD |_| false, AveragePool MEAN |p| p.count_include_pad }

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

/// A pool, by the host where kernels do not take its window or its elements.
fn lower(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    fused: &FusedBody<'_>,
    (kind, padded): (u32, bool),
    windows: impl Fn(usize) -> Option<Vec<WindowAxis>>,
) -> LowerResult {
    let x = fused.operand(0)?;
    let (from, to, dtype) = (&cx.graph.ty(x).shape, fused.ty.shape.clone(), fused.ty.dtype());
    let window = windows(from.len() - 2).and_then(|windows| counted(cx, &windows, [from, &to]));
    let Some(window) = window.filter(|_| dtype.arena_bytes() == 4) else {
        return host::lower(cx, id);
    };
    let at = cx.words(x)?;
    let mut slots = Vec::new();
    for &v in &fused.extra {
        let extra = cx.at(v)?;
        slots.push(convolution::slot(cx, &extra, &to)?);
    }
    let places = in_place::results(cx, id, Reads { own: &slots, shared: &[&at] })?;
    let fill = if dtype.is_float() { fused.epilogue(false)? } else { None };
    let meant = Meant::over_slots(cx, id, fused, (1, &slots))?;
    let hole = Filled::new(fill, slots, &places[1..]);
    Pool { kind, padded, window, dtype, shape: to }.step(cx, [&at, &places[0]], hole, meant)
}

/// Taps of a pool that takes in what follows it: loops over them end on every driver.
const MOST_TAPS: u64 = 1 << 12;

fn hole(graph: &Graph, node: &Node, windows: impl Fn(usize) -> Option<Vec<WindowAxis>>) -> Option<Hole> {
    let (x, y) = (graph.ty(node.input(0)?), graph.ty(node.output()));
    let window = window_of(&windows(x.shape.len() - 2)?, [&x.shape, &y.shape])?;
    let taken = x.dtype().is_float() && window.taps() <= MOST_TAPS;
    taken.then(|| Hole::after("pool", slots::PRODUCT, |_, _, _| true))
}

pub(super) fn window_of(windows: &[WindowAxis], [from, to]: [&[DimExpr]; 2]) -> Option<Window> {
    let axes = windows.iter().zip(from[2..].iter().zip(&to[2..]));
    Window::new(axes.map(|(w, (extent, out))| Axis::of(w, extent, out)).collect::<Option<_>>()?)
}

/// Strides of a view of batches and channels, and along three spatial axes.
pub(super) fn five_strides(view: &View) -> [DimExpr; 5] {
    let [d, h, w] = spatial_strides(view, 2);
    [view.strides[0].clone(), view.strides[1].clone(), d, h, w]
}

/// The window as kernels take it; none where it has more taps than they count in 32 bits, in loops that some drivers
/// end after a number of trips.
pub(super) fn counted(
    cx: &LowerCx<'_>,
    windows: &[WindowAxis],
    [from, to]: [&[DimExpr]; 2],
) -> Option<Window> {
    let window = window_of(windows, [from, to])?;
    let taps = window.taps();
    let trip_count = taps.saturating_add(taps / 32 + 32);
    (taps <= u64::from(u32::MAX >> 2) && cx.target.limits.allows_trips(trip_count)).then_some(window)
}

impl Pool {
    /// The step.
    fn step(
        &self,
        cx: &mut LowerCx<'_>,
        [x, y]: [&PlacedView; 2],
        hole: Filled,
        Meant { meaning, inputs }: Meant,
    ) -> LowerResult {
        if self.shape.iter().any(|d| d.is(0)) {
            return Ok(());
        }
        cx.fits_u32(&pumice_ir::shape::product(&x.view.shape), "the operand")?;
        cx.fits_u32(&pumice_ir::shape::product(&self.shape), "the result")?;
        let mut step = StepBuilder::new();
        let strides = |at: &PlacedView| [0, 1].map(|axis| at.view.strides[axis].clone());
        let x_bound = step.touch(x, Access::ShaderRead).along(five_strides(&x.view));
        let along = |_: usize, view: &View| Ok(strides_over(view, &self.shape)?.into());
        let (y_bound, slots) = step.through(&hole, &[&x_bound], y, &inputs, along)?;
        let (call, threads) = self.call(cx, [x_bound, y_bound.along(strides(y))], y);
        let call = call.holes(slots, hole.fill.into_iter().collect());
        step.flops(self.flops(cx), Precision::Exact);
        let grid = cx.grid(&threads.ceil_div(&DimExpr::constant(64)))?;
        step.dispatch(cx, call, grid, meaning)
    }

    fn flops(&self, cx: &LowerCx<'_>) -> DimExpr {
        let (positions, taps) = (self.window.positions(), self.window.taps().into());
        cost::product([&self.lines(), &positions, &taps], cx.graph.symbols())
    }

    /// The call without its holes, and its threads.
    fn call(&self, cx: &mut LowerCx<'_>, bound: [Bound; 2], y: &PlacedView) -> (CallBuilder, DimExpr) {
        match self.dtype.is_float() {
            true => self.floats(cx, bound, y),
            false => self.integers(cx, bound),
        }
    }

    /// The call for floats and its threads.
    fn floats(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2], at: &PlacedView) -> (CallBuilder, DimExpr) {
        let positions = self.window.positions();
        let vec_y = u32::from(by_quads(cx, &positions, &at.view));
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
            end: self.window.pad_ends(cx),
            x,
            y,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (call.into_call(), self.lines() * positions.ceil_div(&DimExpr::constant(4)))
    }

    /// The call for integers and its threads.
    fn integers(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2]) -> (CallBuilder, DimExpr) {
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
            end: self.window.pad_ends(cx),
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
