//! Convolutions.

use super::call::{Call, by_four, iteration, law};
use super::walk::Walk;
use super::window::{self, Window};
use super::{Port, Reach, Rule, Wrong, fill_touches};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("conv_direct", direct)];

/// `conv_direct`.
fn direct(call: &Call<'_>) -> Result<Reach, Wrong> {
    let [batches, groups, channels, outputs] = call.counts(["batches", "groups", "channels", "outputs"])?;
    let window = Window::of(call)?;
    iteration(&[channels, window.taps])?;
    let up = window::counts(call, "up")?;
    let transposed = call.flag("transposed")?;
    law(up.iter().all(|u| *u == 1 || transposed && *u > 0), || format!("`up` is {up:?}"))?;
    let blocks = outputs.div_ceil(call.defined("MR")?);
    let threads = iteration(&[batches, groups, blocks, window.positions.div_ceil(4)])?;

    let [at, n, g, c] = call.strides(["x_at", "x_n", "x_g", "x_c"])?;
    let x = Walk::new(4, at).axis(batches, n).axis(groups, g).axis(channels, c);
    let [at, g, o, c, tap] = call.strides(["w_at", "w_g", "w_o", "w_c", "w_tap"])?;
    let w = Walk::new(call.typed_unit(1), at).axis(groups, g).axis(outputs, o).axis(channels, c);
    let [at, n, g, o] = call.strides(["y_at", "y_n", "y_g", "y_o"])?;
    if call.flag("vec_y")? {
        by_four("`vec_y`", &[window.positions as i64, at, n, g, o])?;
    }
    let y = Walk::new(4, at).axis(batches, n).axis(groups, g).axis(outputs, o);
    let mut reach = Reach::new(threads.div_ceil(64), 64)
        .operand(0, window.spatial(call, x)?)
        .operand(1, w.axis(window.taps, tap))
        .operand(2, y.axis(window.positions, 1));
    for slot in (0..call.call.slots.len()).filter(|s| call.call.holes.iter().any(|h| fill_touches(h, *s))) {
        let at = |array| call.stride_at(array, slot);
        let walk = Walk::new(4, at("slot_at")?).axis(batches, at("slot_b0")?).axis(groups, at("slot_b1")?);
        let walk = walk.axis(outputs, at("slot_row")?).axis(window.positions, at("slot_col")?);
        reach.walks.push((Port::Slot(slot), walk));
    }
    Ok(reach)
}
