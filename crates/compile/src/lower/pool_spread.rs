//! `PoolSpread`: values of windows gathered where these are over, a thread for each element, or for each cell of
//! elements under which the same windows end.

use super::pool::{five_strides, window_of};
use super::{Lower, host};
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use crate::window::{Axis, Window, Words};
use pumice_ir::ops::PoolSpread;
use pumice_ir::shape::product;
use pumice_ir::{NodeId, ValueId};
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::pool::{PoolSpread as Elements, PoolSpreadCells as Cells, spread};
use pumice_types::DimExpr;

/// Elements of the padded operand along an axis: places are divided by strides.
const LONGEST: u64 = (1 << 31) - (1 << 11);

impl Lower for PoolSpread {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let v = node.input(0).ok_or("it has no operand")?;
        let Some(window) = window(self, cx, [node.output(), v]) else { return host::lower(cx, id) };
        let v = cx.words(v)?;
        let places = node.input(1).map(|places| cx.dense(places)).transpose()?;
        let x = cx.result(node.output())?;
        if x.is_empty() {
            return Ok(());
        }
        let mode = if places.is_some() { spread::PLACES } else { divided(self) };
        step(cx, id, (mode, &window), ([&v, &x], places.as_ref()))
    }
}

/// The window as the kernel takes it, if it does.
fn window(op: &PoolSpread, cx: &LowerCx<'_>, [x, v]: [ValueId; 2]) -> Option<Window> {
    let [from, to] = [x, v].map(|v| &cx.graph.ty(v).shape[..]);
    let window = window_of(&op.windows(from.len() - 2).ok()?, [from, to])?;
    is_counted(cx, &window).then_some(window)
}

fn step(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    window: (u32, &Window),
    ([v, x], places): ([&PlacedView; 2], Option<&PlacedView>),
) -> LowerResult {
    let elements = product(&x.view.shape);
    cx.fits_u32(&product(&v.view.shape), "the operand")?;
    cx.fits_u32(&elements, "the result")?;
    let mut step = StepBuilder::new();
    let bound = bound(&mut step, [v, x], places);
    let outer = [&x.view.shape[0], &x.view.shape[1]];
    let cells = cells(cx, window.1);
    let call = call(cx, window, bound, outer, cells.is_some());
    let threads = cells.map_or(elements, |cells| outer[0] * outer[1] * cells);
    step.dispatch_node(cx, id, call, &threads.ceil_div(&DimExpr::constant(64)))
}

/// How many cells there are for each channel, where a thread can have one.
fn cells(cx: &LowerCx<'_>, window: &Window) -> Option<DimExpr> {
    let [d, h, w] = &window.0;
    let symbols = cx.graph.symbols();
    let over = |axis: &Axis| spread::ending_under(axis.kernel, axis.dilation, axis.step);
    let of_d = spread::covering(d.kernel, d.dilation, d.step, d.out.upper(symbols));
    let (windows, own) = (over(h).saturating_mul(over(w)), h.step.saturating_mul(w.step));
    // Where there are fewer windows than a cell looks for, as where there is one, most of its looks are at nothing.
    let fits = [h, w].iter().all(|axis| over(axis) <= axis.out.upper(symbols))
        && own <= spread::LARGEST_CELL
        && own.saturating_mul(windows) <= spread::MOST_PAIRS
        && windows.saturating_mul(of_d) <= spread::ONE_CHAIN;
    let along = |axis: &Axis| {
        let lead = axis.begin.as_const()? % axis.step as i64;
        Some((&axis.extent + &DimExpr::from(lead as u64)).ceil_div(&DimExpr::from(axis.step)))
    };
    fits.then(|| Some(&d.extent * along(h)? * along(w)?)).flatten()
}

/// Which sum it is, where it is not by places.
fn divided(op: &PoolSpread) -> u32 {
    match (op.mean, op.count_include_pad) {
        (false, _) => spread::SUM,
        (true, false) => spread::MEAN,
        (true, true) => spread::PADDED_MEAN,
    }
}

/// Whether kernels count the taps of windows and the places of axes, in loops that no driver ends.
fn is_counted(cx: &LowerCx<'_>, window: &Window) -> bool {
    let symbols = cx.graph.symbols();
    let longest = window.0.iter().map(|axis| (&axis.extent + &axis.begin).upper(symbols)).max();
    let over = |axis: &Axis| spread::covering(axis.kernel, axis.dilation, axis.step, axis.out.upper(symbols));
    let trip_count = spread::trip_count(window.0.each_ref().map(over));
    longest.is_some_and(|n| n <= LONGEST)
        && window.taps() <= u64::from(u32::MAX >> 2)
        && cx.target.limits.allows_trips(trip_count)
}

/// v, the places, of which v again stands for those that are not there, and the result.
fn bound(step: &mut StepBuilder, [v, x]: [&PlacedView; 2], places: Option<&PlacedView>) -> [Bound; 3] {
    let strides = five_strides(&v.view);
    let v = step.read(0, v);
    let places = places.map_or_else(|| v.unread(), |places| step.read(1, places));
    [v.along(strides), places, step.write(x)]
}

/// The call, of this mode, element by element or cell by cell: both kernels have the same arguments and operands.
fn call(
    cx: &mut LowerCx<'_>,
    (mode, window): (u32, &Window),
    [v, places, x]: [Bound; 3],
    outer: [&DimExpr; 2],
    by_cells: bool,
) -> CallBuilder {
    let (decl, variant) =
        if by_cells { (&Cells::DECL, Cells::plain) } else { (&Elements::DECL, Elements::plain) };
    let Words { extent, kernel, out, step, dilation, begin } = window.words(cx);
    let [batches, channels] = outer.map(|n| cx.arg(n));
    let call = CallBuilder::new(decl, variant)
        .constant("mode", mode)
        .own("batches", batches)
        .own("channels", channels)
        .own("extent", extent)
        .own("kernel", kernel)
        .own("out", out)
        .own("step", step)
        .own("dilation", dilation)
        .own("begin", begin)
        .own("end", window.pad_ends(cx))
        .operand("v", v)
        .operand("places", places)
        .operand("x", x);
    if by_cells { of_cells(call, window) } else { call }
}

/// The call with the window's numbers along the last two axes as constants.
fn of_cells(call: CallBuilder, window: &Window) -> CallBuilder {
    let [_, h, w] = &window.0;
    call.constant("kernel_h", h.kernel as u32)
        .constant("kernel_w", w.kernel as u32)
        .constant("step_h", h.step as u32)
        .constant("step_w", w.step as u32)
        .constant("dilation_h", h.dilation as u32)
        .constant("dilation_w", w.dilation as u32)
}
