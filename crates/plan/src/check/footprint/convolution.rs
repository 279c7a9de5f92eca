//! Convolutions.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law, product};
use super::matmul;
use super::window::{self, Window};
use super::{Footprint, Port, Rule, Together, Wrong, fill_touches};
use crate::kernels::convolution::LARGEST_UP;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("conv_direct", direct),
    ("conv_lines", lines),
    ("conv_shared", shared),
    ("conv_tile", tile),
    ("conv_spread", spread),
    ("conv_spread_tile", spread_tile),
];

/// Extents that all of them have.
struct Extents {
    batches: u64,
    groups: u64,
    channels: u64,
    outputs: u64,
    positions: u64,
}

impl Extents {
    fn of(call: &Call<'_>, positions: u64) -> Result<Extents, Wrong> {
        let [batches, groups, channels, outputs] =
            call.fixed_counts(["batches", "groups", "channels", "outputs"])?;
        Ok(Extents { batches, groups, channels, outputs, positions })
    }

    /// Accesses to all elements of the result.
    fn results<'i>(&self, at: i64, [n, g, o, p]: [i64; 4]) -> Accesses<'i> {
        let accesses = Accesses::new(4, at).axis(self.batches, n).axis(self.groups, g);
        accesses.axis(self.outputs, o).axis(self.positions, p)
    }

    /// Adds the slots that the epilogue touches.
    fn slots<'i>(&self, call: &Call<'i>, mut footprint: Footprint<'i>) -> Result<Footprint<'i>, Wrong> {
        for slot in 0..call.call.slots.len() {
            if call.call.holes.iter().any(|h| fill_touches(h, slot)) {
                let at = |array| call.fixed_stride_at(array, slot);
                let strides = [at("slot_b0")?, at("slot_b1")?, at("slot_row")?, at("slot_col")?];
                footprint.accesses.push((Port::Slot(slot), self.results(at("slot_at")?, strides)));
            }
        }
        Ok(Footprint { together: Together::Slots(2), ..footprint })
    }

    /// Adds the operand under a window, and its weights.
    fn factors<'i>(
        &self,
        call: &Call<'i>,
        window: &Window,
        weights: Accesses<'i>,
        footprint: Footprint<'i>,
    ) -> Result<Footprint<'i>, Wrong> {
        let [at, n, g, c] = call.fixed_strides(["x_at", "x_n", "x_g", "x_c"])?;
        let x = Accesses::new(4, at).axis(self.batches, n).axis(self.groups, g).axis(self.channels, c);
        let x = window.spatial(call, x, ["x_d", "x_h", "x_w"])?;
        Ok(footprint.operand(0, x).operand(1, weights))
    }

    /// Weights of a convolution: its outputs, then their channels.
    fn weights<'i>(&self, call: &Call<'i>, taps: u64) -> Result<Accesses<'i>, Wrong> {
        let [at, g, o, c, tap] = call.fixed_strides(["w_at", "w_g", "w_o", "w_c", "w_tap"])?;
        let w = Accesses::new(call.typed_unit(1), at).axis(self.groups, g).axis(self.outputs, o);
        let outer = [product(&[self.groups, self.outputs]), self.channels];
        let w = w.axis(self.channels, c).axis(taps, tap);
        Ok(w.shaped(outer, window::counts(call, "kernel")?))
    }

    /// Weights of a transposed convolution: its channels, then their outputs.
    fn spread_weights<'i>(&self, call: &Call<'i>, taps: u64) -> Result<Accesses<'i>, Wrong> {
        let [at, g, o, c, tap] = call.fixed_strides(["w_at", "w_g", "w_o", "w_c", "w_tap"])?;
        let w = Accesses::new(call.typed_unit(1), at).axis(self.groups, g).axis(self.channels, c);
        let outer = [product(&[self.groups, self.channels]), self.outputs];
        let w = w.axis(self.outputs, o).axis(taps, tap);
        Ok(w.shaped(outer, window::counts(call, "kernel")?))
    }

    /// Adds the factors of a tile: weights, whose terms count channels and taps, and the operand under a window.
    fn tile_factors<'i>(
        &self,
        call: &Call<'i>,
        window: &Window,
        taps: u64,
        footprint: Footprint<'i>,
    ) -> Result<Footprint<'i>, Wrong> {
        let [at, g, row, col] = call.fixed_strides(["a_at", "a_g", "a_row", "a_col"])?;
        let k = self.channels * taps;
        matmul::mode(call, "a_mode", [at, g, 0], (col, k), (row, self.outputs))?;
        let a = Accesses::new(call.typed_unit(0), at).axis(self.groups, g).axis(self.outputs, row);
        let a = if call.flag("tap_major")? {
            a.axis(self.channels, col).axis(taps, col.saturating_mul(self.channels as i64))
        } else {
            a.axis(k, col)
        };
        let [at, n, g, c] = call.fixed_strides(["b_at", "b_n", "b_g", "b_c"])?;
        let b = Accesses::new(4, at).axis(self.batches, n).axis(self.groups, g).axis(self.channels, c);
        Ok(footprint.operand(0, a).operand(1, window.spatial(call, b, ["b_d", "b_h", "b_w"])?))
    }

    /// Tiles read what lies outside at an element that is there.
    fn is_there(&self, window: &Window, taps: u64) -> Result<(), Wrong> {
        let least = window.extent.into_iter().chain([self.channels, taps]).min();
        law(self.batches == 0 || self.positions == 0 || least >= Some(1), || {
            "a tile reads an element of an operand that has none".to_owned()
        })
    }

    /// The result, stored by quads of neighbours among so many, or one by one.
    fn stored<'i>(&self, call: &Call<'i>, by_quads: Option<u64>) -> Result<Accesses<'i>, Wrong> {
        let [at, n, g, o] = call.fixed_strides(["y_at", "y_n", "y_g", "y_o"])?;
        if let Some(neighbours) = by_quads {
            by_four("`vec_y`", &[neighbours as i64, at, n, g, o])?;
        }
        let outer = [self.batches, product(&[self.groups, self.outputs])];
        Ok(self.results(at, [n, g, o, 1]).shaped(outer, window::counts(call, "out")?))
    }
}

/// `conv_direct`.
fn direct<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let taps = iteration(&window::counts(call, "kernel")?)?;
    let e = Extents::of(call, window.positions)?;
    iteration(&[e.channels, taps])?;
    let blocks = e.outputs.div_ceil(call.defined("MR")?);
    let threads = iteration(&[e.batches, e.groups, blocks, e.positions.div_ceil(4)])?;
    let footprint =
        e.factors(call, &window, e.weights(call, taps)?, Footprint::new(threads.div_ceil(64), 64))?;
    let footprint = footprint.operand(2, e.stored(call, call.flag("vec_y")?.then_some(e.positions))?);
    e.slots(call, footprint)
}

/// `conv_shared`.
fn shared<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let taps = iteration(&window::counts(call, "kernel")?)?;
    let e = Extents::of(call, window.positions)?;
    iteration(&[e.channels, taps])?;
    let groups = iteration(&[e.batches, e.groups, e.outputs, e.positions.div_ceil(4)])?;
    let footprint = e.factors(call, &window, e.weights(call, taps)?, Footprint::new(groups, 1))?;
    let footprint = footprint.operand(2, e.stored(call, call.flag("vec_y")?.then_some(e.positions))?);
    e.slots(call, footprint)
}

/// What a kernel that keeps lines says of the last axis, which has so many taps.
fn last_axis(call: &Call<'_>, window: &Window, taps: u64) -> Result<(), Wrong> {
    let (taps_w, step_w, shift) = (call.spec("taps_w")?, call.spec("step_w")?, call.choice("shift", 4)?);
    let last = |name| call.fixed_stride_at(name, 2);
    law((taps_w, step_w as i64) == (taps, last("step")?), || {
        format!("`taps_w` is {taps_w} and `step_w` {step_w} along an axis of {taps} taps")
    })?;
    law(taps <= 1 || last("dilation")? == 1, || "its taps are no neighbours".to_owned())?;
    let needed = taps_w.saturating_add(step_w.saturating_mul(3)).saturating_add(shift);
    let most = 4 * call.defined("SQ")?;
    law(taps_w >= 1 && needed <= most, || format!("a line needs {needed} elements"))?;
    // The kernel's loop over a line's taps ends there (`lines.comp`, TW).
    law(taps_w.saturating_add(6) <= most, || format!("a line has {taps_w} taps and {most} elements"))?;
    if call.flag("vec_x")? {
        let [at, n, g, c, d, h, w] =
            call.fixed_strides(["x_at", "x_n", "x_g", "x_c", "x_d", "x_h", "x_w"])?;
        law(w == 1, || format!("`vec_x` reads elements together that are {w} apart"))?;
        by_four("`vec_x`", &[window.extent[2] as i64, at, n, g, c, d, h, last("begin")? + shift as i64])?;
    }
    Ok(())
}

/// `conv_lines`.
fn lines<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let (kernel, out) = (window::counts(call, "kernel")?, window::counts(call, "out")?);
    let e = Extents::of(call, window.positions)?;
    let taps = iteration(&kernel)?;
    iteration(&[e.channels, taps])?;
    last_axis(call, &window, kernel[2])?;
    let blocks = e.outputs.div_ceil(call.defined("MR")?);
    let threads = iteration(&[e.batches, e.groups, blocks, out[0], out[1], out[2].div_ceil(4)])?;
    let footprint =
        e.factors(call, &window, e.weights(call, taps)?, Footprint::new(threads.div_ceil(64), 64))?;
    let footprint = footprint.operand(2, e.stored(call, call.flag("vec_y")?.then_some(out[2]))?);
    e.slots(call, footprint)
}

/// A transposed convolution by phases.
struct Spread {
    window: Window,
    /// Taps of the kernel.
    taps: u64,
    /// The most taps of a phase.
    taps_of_a_phase: u64,
    phases: u64,
    /// The most positions of a phase.
    most: u64,
}

impl Spread {
    /// Every position lies in one phase: it begins among the first `up` ones, and what is between two of them is `up`.
    fn of(call: &Call<'_>) -> Result<Spread, Wrong> {
        let [kernel, out, up, gap] = ["kernel", "out", "up", "gap"].map(|name| window::counts(call, name));
        let (kernel, out, up, gap) = (kernel?, out?, up?, gap?);
        window::counts(call, "begin")?;
        (0..3).try_for_each(|d| axis_has_phases(call, d, up[d], gap[d]))?;
        let along = |of: fn(u64, u64) -> u64, a: [u64; 3], b: [u64; 3]| [0, 1, 2].map(|d| of(a[d], b[d]));
        Ok(Spread {
            window: Window::spread(call)?,
            taps: iteration(&kernel)?,
            taps_of_a_phase: iteration(&along(u64::div_ceil, kernel, gap))?,
            phases: iteration(&along(u64::min, up, out))?,
            most: iteration(&along(u64::div_ceil, out, up))?,
        })
    }
}

/// Along an axis: every `gap`-th tap takes part, and `inverse` finds the first of them by `hop`.
fn axis_has_phases(call: &Call<'_>, axis: usize, up: u64, gap: u64) -> Result<(), Wrong> {
    let (inverse, hop) = (call.fixed_count_at("inverse", axis)?, call.fixed_stride_at("hop", axis)?);
    law((1..=LARGEST_UP).contains(&up) && gap > 0 && up.is_multiple_of(gap), || {
        format!("`up` is {up}, and of its taps every one in {gap} takes part")
    })?;
    let turned = hop.rem_euclid(gap as i64) as u64 * (inverse % gap) % gap;
    law(inverse < LARGEST_UP && (turned + 1).is_multiple_of(gap), || {
        format!("`inverse` {inverse} is none of {hop} modulo {gap}")
    })
}

/// `conv_spread`.
fn spread<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let s = Spread::of(call)?;
    let e = Extents::of(call, s.window.positions)?;
    iteration(&[e.channels, s.taps_of_a_phase])?;
    let blocks = e.outputs.div_ceil(call.defined("MR")?);
    let threads = iteration(&[e.batches, e.groups, blocks, s.phases, s.most.div_ceil(4)])?;
    let footprint = e.factors(
        call,
        &s.window,
        e.spread_weights(call, s.taps)?,
        Footprint::new(threads.div_ceil(64), 64),
    )?;
    e.slots(call, footprint.operand(2, e.stored(call, None)?))
}

/// `conv_spread_tile`.
fn spread_tile<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let s = Spread::of(call)?;
    let e = Extents::of(call, s.window.positions)?;
    let (bm, bn, bk) = (call.defined("BM")?, call.defined("BN")?, call.defined("BK")?);
    iteration(&[e.channels.next_multiple_of(bk), s.taps_of_a_phase])?;
    e.is_there(&s.window, s.taps)?;
    let columns = iteration(&[e.batches, s.most])?;
    phase_tails(call, &e)?;
    let groups = iteration(&[e.outputs.div_ceil(bm), columns.div_ceil(bn), e.groups, s.phases])?;
    let [at, g, o, c, tap] = call.fixed_strides(["w_at", "w_g", "w_o", "w_c", "w_tap"])?;
    matmul::mode(call, "a_mode", [at, g, tap], (c, e.channels), (o, e.outputs))?;
    let footprint = e.factors(call, &s.window, e.spread_weights(call, s.taps)?, Footprint::new(groups, 1))?;
    e.slots(call, footprint.operand(2, e.stored(call, None)?))
}

/// What a tile of a phase says of what is left over. Channels are what a step may reach past; how many columns there
/// are a phase knows alone.
fn phase_tails(call: &Call<'_>, e: &Extents) -> Result<(), Wrong> {
    let (bm, bk) = (call.defined("BM")?, call.defined("BK")?);
    match call.choice("k_tail", 3)? {
        0 => law(e.channels.is_multiple_of(bk), || format!("`k_tail` is 0 for {} channels", e.channels))?,
        2 => law(e.channels >= bk, || format!("`k_tail` is 2 for {} channels", e.channels))?,
        _ => {}
    }
    law(call.flag("edge")? || e.outputs.is_multiple_of(bm), || format!("`edge` is 0 for {}", e.outputs))
}

/// `conv_tile`.
fn tile<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let window = Window::of(call)?;
    let e = Extents::of(call, window.positions)?;
    let taps = iteration(&[call.spec("kd")?, call.spec("kh")?, call.spec("kw")?])?;
    let (k, columns) = (iteration(&[e.channels, taps])?, iteration(&[e.batches, e.positions])?);
    e.is_there(&window, taps)?;
    tile_steps(call, &e, k, columns)?;
    let (bm, bn) = (call.defined("BM")?, call.defined("BN")?);
    let groups = iteration(&[e.outputs.div_ceil(bm), columns.div_ceil(bn), e.groups])?;
    let footprint = e.tile_factors(call, &window, taps, Footprint::new(groups, 1))?;
    e.slots(call, footprint.operand(2, e.stored(call, call.flag("vec_y")?.then_some(e.positions))?))
}

/// What a tile says of its steps: under one tap each, what is left over, quads of neighbours.
fn tile_steps(call: &Call<'_>, e: &Extents, k: u64, columns: u64) -> Result<(), Wrong> {
    let bk = call.defined("BK")?;
    let by_taps = call.flag("tap_major")?;
    law(!by_taps || e.channels.is_multiple_of(bk), || format!("{} channels, {bk} in a step", e.channels))?;
    matmul::tails(call, k, [e.outputs, columns])?;
    law(!call.flag("quads")? || e.positions.is_multiple_of(4), || {
        format!("`quads` for {} positions", e.positions)
    })
}
