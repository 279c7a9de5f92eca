//! Convolutions.

use super::call::{Call, by_four, iteration, law};
use super::matmul;
use super::walk::Walk;
use super::window::{self, Window};
use super::{Port, Reach, Rule, Wrong, fill_touches};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("conv_direct", direct), ("conv_tile", tile)];

/// Extents that both kernels have.
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
            call.counts(["batches", "groups", "channels", "outputs"])?;
        Ok(Extents { batches, groups, channels, outputs, positions })
    }

    /// A walk over all elements of the result.
    fn results(&self, at: i64, [n, g, o, p]: [i64; 4]) -> Walk {
        let walk = Walk::new(4, at).axis(self.batches, n).axis(self.groups, g);
        walk.axis(self.outputs, o).axis(self.positions, p)
    }

    /// Adds the slots that the epilogue touches.
    fn slots(&self, call: &Call<'_>, mut reach: Reach) -> Result<Reach, Wrong> {
        for slot in 0..call.call.slots.len() {
            if call.call.holes.iter().any(|h| fill_touches(h, slot)) {
                let at = |array| call.stride_at(array, slot);
                let strides = [at("slot_b0")?, at("slot_b1")?, at("slot_row")?, at("slot_col")?];
                reach.walks.push((Port::Slot(slot), self.results(at("slot_at")?, strides)));
            }
        }
        Ok(reach)
    }

    /// The result; whether it is stored by quads.
    fn stored(&self, call: &Call<'_>) -> Result<Walk, Wrong> {
        let [at, n, g, o] = call.strides(["y_at", "y_n", "y_g", "y_o"])?;
        if call.flag("vec_y")? {
            by_four("`vec_y`", &[self.positions as i64, at, n, g, o])?;
        }
        Ok(self.results(at, [n, g, o, 1]))
    }
}

/// `conv_direct`.
fn direct(call: &Call<'_>) -> Result<Reach, Wrong> {
    let window = Window::of(call)?;
    let taps = iteration(&window::counts(call, "kernel")?)?;
    let e = Extents::of(call, window.positions)?;
    iteration(&[e.channels, taps])?;
    let up = window::counts(call, "up")?;
    let transposed = call.flag("transposed")?;
    law(up.iter().all(|u| *u == 1 || transposed && (1..=1 << 29).contains(u)), || format!("`up` is {up:?}"))?;
    let blocks = e.outputs.div_ceil(call.defined("MR")?);
    let threads = iteration(&[e.batches, e.groups, blocks, e.positions.div_ceil(4)])?;
    let [at, n, g, c] = call.strides(["x_at", "x_n", "x_g", "x_c"])?;
    let x = Walk::new(4, at).axis(e.batches, n).axis(e.groups, g).axis(e.channels, c);
    let [at, g, o, c, tap] = call.strides(["w_at", "w_g", "w_o", "w_c", "w_tap"])?;
    let w = Walk::new(call.typed_unit(1), at).axis(e.groups, g).axis(e.outputs, o).axis(e.channels, c);
    let reach = Reach::new(threads.div_ceil(64), 64)
        .operand(0, window.spatial(call, x, ["x_d", "x_h", "x_w"])?)
        .operand(1, w.axis(taps, tap))
        .operand(2, e.stored(call)?);
    e.slots(call, reach)
}

/// `conv_tile`.
fn tile(call: &Call<'_>) -> Result<Reach, Wrong> {
    let window = Window::of(call)?;
    let e = Extents::of(call, window.positions)?;
    let (bm, bn, bk) = (call.defined("BM")?, call.defined("BN")?, call.defined("BK")?);
    let taps = iteration(&[call.spec("kd")?, call.spec("kh")?, call.spec("kw")?])?;
    let (k, columns) = (iteration(&[e.channels, taps])?, iteration(&[e.batches, e.positions])?);
    // What lies outside is read at an element that is there.
    let least = window.extent.into_iter().chain([e.channels, taps]).min();
    law(columns == 0 || least >= Some(1), || {
        "a tile reads an element of an operand that has none".to_owned()
    })?;
    let by_taps = call.flag("tap_major")?;
    law(!by_taps || e.channels.is_multiple_of(bk), || format!("{} channels, {bk} in a step", e.channels))?;
    matmul::tails(call, k, [e.outputs, columns])?;
    law(!call.flag("quads")? || e.positions.is_multiple_of(4), || {
        format!("`quads` for {} positions", e.positions)
    })?;
    let groups = iteration(&[e.outputs.div_ceil(bm), columns.div_ceil(bn), e.groups])?;
    let [at, g, row, col] = call.strides(["a_at", "a_g", "a_row", "a_col"])?;
    matmul::mode(call, "a_mode", [at, g, 0], (col, k), (row, e.outputs))?;
    let a = Walk::new(call.typed_unit(0), at).axis(e.groups, g).axis(e.outputs, row).axis(k, col);
    let [at, n, g, c] = call.strides(["b_at", "b_n", "b_g", "b_c"])?;
    let b = Walk::new(4, at).axis(e.batches, n).axis(e.groups, g).axis(e.channels, c);
    let reach = Reach::new(groups, 1)
        .operand(0, a)
        .operand(1, window.spatial(call, b, ["b_d", "b_h", "b_w"])?)
        .operand(2, e.stored(call)?);
    e.slots(call, reach)
}
