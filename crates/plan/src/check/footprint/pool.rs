//! Pooling.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::window::{self, Window};
use super::{Footprint, Port, Rule, Together, Wrong, fill_touches};
use crate::kernels::pool::spread as kinds;
use crate::kernels::reduce::op;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("pool", floats),
    ("pool_int", integers),
    ("pool_places", places),
    ("pool_spread", spread),
    ("pool_spread_cells", spread_cells),
];

/// The operand and the result, whose axes are batches, channels and what the window says.
fn operands<'i>(call: &Call<'i>, window: &Window) -> Result<[Accesses<'i>; 2], Wrong> {
    let [batches, channels] = call.fixed_counts(["batches", "channels"])?;
    window.fits(call)?;
    let [at, n, c] = call.fixed_strides(["y_at", "y_n", "y_c"])?;
    let y = Accesses::new(4, at).axis(batches, n).axis(channels, c).axis(window.positions, 1);
    let outer = [batches, channels];
    Ok([elements(call, outer, window)?, y.shaped(outer, window::counts(call, "out")?)])
}

/// The operand under the windows.
fn elements<'i>(call: &Call<'i>, outer: [u64; 2], window: &Window) -> Result<Accesses<'i>, Wrong> {
    let [at, n, c] = call.fixed_strides(["x_at", "x_n", "x_c"])?;
    let x = Accesses::new(4, at).axis(outer[0], n).axis(outer[1], c);
    Ok(window.spatial(call, x, ["x_d", "x_h", "x_w"])?.shaped(outer, window.extent))
}

/// `pool`.
fn floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let [batches, channels] = call.fixed_counts(["batches", "channels"])?;
    call.choice("op", u64::from(op::PROD) + 1)?;
    call.flag("padded")?;
    if call.flag("vec_y")? {
        let [at, n, c] = call.fixed_strides(["y_at", "y_n", "y_c"])?;
        by_four("`vec_y`", &[window.positions as i64, at, n, c])?;
    }
    let threads = iteration(&[batches, channels, window.positions.div_ceil(4)])?;
    let [x, y] = operands(call, &window)?;
    let footprint = Footprint { together: Together::Slots(1), ..Footprint::new(threads.div_ceil(64), 64) };
    let mut footprint = footprint.operand(0, x).operand(1, y);
    for slot in (0..call.call.slots.len()).filter(|s| call.call.holes.iter().any(|h| fill_touches(h, *s))) {
        let at = |array| call.fixed_stride_at(array, slot);
        let accesses =
            Accesses::new(4, at("slot_at")?).axis(batches, at("slot_b0")?).axis(channels, at("slot_row")?);
        footprint.accesses.push((Port::Slot(slot), accesses.axis(window.positions, at("slot_col")?)));
    }
    Ok(footprint)
}

/// `pool_int`.
fn integers<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let [batches, channels] = call.fixed_counts(["batches", "channels"])?;
    let kind = call.choice("op", u64::from(op::PROD))?;
    law(kind >= u64::from(op::MAX), || format!("`op` {kind} is no extremum"))?;
    call.flag("signed")?;
    let bits = call.choice("bits", 33)?;
    law(bits > 0, || "`bits` is 0".to_owned())?;
    let threads = iteration(&[batches, channels, window.positions])?;
    let [x, y] = operands(call, &window)?;
    Ok(Footprint::new(threads.div_ceil(64), 64).operand(0, x).operand(1, y))
}

/// `pool_places`.
fn places<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    window.fits(call)?;
    let outer = call.fixed_counts(["batches", "channels"])?;
    call.flag("smallest")?;
    if call.flag("vec_y")? {
        by_four("`vec_y`", &[window.positions as i64])?;
    }
    iteration(&window.extent)?;
    let threads = iteration(&[outer[0], outer[1], window.positions.div_ceil(4)])?;
    let x = elements(call, outer, &window)?;
    let y = Accesses::dense(4, iteration(&[outer[0], outer[1], window.positions])?);
    let footprint = Footprint::new(threads.div_ceil(64), 64).operand(0, x);
    Ok(footprint.operand(1, y.shaped(outer, window::counts(call, "out")?)))
}

/// `pool_spread`: windows move over the result. Of positions those that are over an element are read.
fn spread<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let outer = call.fixed_counts(["batches", "channels"])?;
    spread_by(call, &window, outer, iteration(&window.extent)?)
}

/// `pool_spread_cells`: a thread has the elements from one end of a window to the next, of two axes.
fn spread_cells<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let outer = call.fixed_counts(["batches", "channels"])?;
    let [mut cells, mut pairs, mut own] = [window.extent[0], 1, 1];
    for (d, axis) in [(1, "h"), (2, "w")] {
        let number = |name: &str| {
            let (spec, there) = (call.spec(&format!("{name}_{axis}"))?, call.fixed_count_at(name, d)?);
            law(spec == there && spec > 0, || format!("`{name}_{axis}` is {spec}, the window's is {there}"))?;
            Ok::<u64, Wrong>(spec)
        };
        let (kernel, step, dilation) = (number("kernel")?, number("step")?, number("dilation")?);
        let begin = call.fixed_count_at("begin", d)?;
        cells = iteration(&[cells, (window.extent[d] + begin % step).div_ceil(step)])?;
        own = iteration(&[own, step])?;
        pairs = iteration(&[
            pairs,
            (kernel - 1).saturating_mul(dilation).saturating_add(1).div_ceil(step),
            step,
        ])?;
    }
    law(own <= kinds::LARGEST_CELL && pairs <= kinds::MOST_PAIRS, || {
        format!("a cell has {own} elements, {pairs} with their windows")
    })?;
    spread_by(call, &window, outer, cells)
}

/// A gradient of pools by so many threads for each channel.
fn spread_by<'i>(
    call: &Call<'i>,
    window: &Window,
    outer: [u64; 2],
    threads: u64,
) -> Result<Footprint<'i>, Wrong> {
    window.fits(call)?;
    let mode = call.choice("mode", u64::from(kinds::PLACES) + 1)?;
    let by_places = mode == u64::from(kinds::PLACES);
    call.own_or_again(by_places, 1, 0)?;
    places_are_divided(call, window)?;
    let threads = iteration(&[outer[0], outer[1], threads])?;
    let elements = iteration(&[outer[0], outer[1], iteration(&window.extent)?])?;
    let [v, places] = of_windows(call, outer, window)?;
    let mut footprint = Footprint::new(threads.div_ceil(64), 64).operand(0, v);
    if by_places {
        footprint = footprint.operand(1, places);
    }
    Ok(footprint.operand(2, Accesses::dense(4, elements).shaped(outer, window.extent)))
}

/// The value and the place of each window.
fn of_windows<'i>(call: &Call<'i>, outer: [u64; 2], window: &Window) -> Result<[Accesses<'i>; 2], Wrong> {
    let positions = window::counts(call, "out")?;
    let [at, n, c] = call.fixed_strides(["v_at", "v_n", "v_c"])?;
    let v = Accesses::new(4, at).axis(outer[0], n).axis(outer[1], c);
    let v = window::along(call, v, positions, ["v_d", "v_h", "v_w"])?;
    let places = Accesses::dense(4, iteration(&[outer[0], outer[1], window.positions])?);
    Ok([v, places].map(|accesses| accesses.shaped(outer, positions)))
}

/// The kernel divides places, counted from where windows begin, by strides and by what is between taps.
fn places_are_divided(call: &Call<'_>, window: &Window) -> Result<(), Wrong> {
    for d in 0..3 {
        let (begin, step) = (call.fixed_stride_at("begin", d)?, call.fixed_count_at("step", d)?);
        law(begin >= 0 && step > 0, || {
            format!("windows from {begin} before the first element on, by {step}")
        })?;
        iteration(&[window.extent[d] + begin as u64])?;
    }
    Ok(())
}
