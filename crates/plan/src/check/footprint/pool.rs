//! Pooling.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::window::{self, Window};
use super::{Footprint, Port, Rule, Together, Wrong, fill_touches};
use crate::kernels::reduce::op;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("pool", floats), ("pool_int", integers)];

/// The operand and the result, whose axes are batches, channels and what the window says.
fn operands<'i>(call: &Call<'i>, window: &Window) -> Result<[Accesses<'i>; 2], Wrong> {
    let [batches, channels] = call.fixed_counts(["batches", "channels"])?;
    window.fits(call)?;
    let [at, n, c] = call.fixed_strides(["x_at", "x_n", "x_c"])?;
    let x = window.spatial(
        call,
        Accesses::new(4, at).axis(batches, n).axis(channels, c),
        ["x_d", "x_h", "x_w"],
    )?;
    let [at, n, c] = call.fixed_strides(["y_at", "y_n", "y_c"])?;
    let y = Accesses::new(4, at).axis(batches, n).axis(channels, c).axis(window.positions, 1);
    let outer = [batches, channels];
    Ok([x.shaped(outer, window.extent), y.shaped(outer, window::counts(call, "out")?)])
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
