//! Slots of holes, which most families place alike: an offset, a stride for every coordinate of the hole, and along the
//! columns a bit of `slot_cols`.

use super::accesses::Accesses;
use super::call::{Call, law};
use super::{Footprint, Port, Wrong, fill_touches};
use crate::check::numbers::Number;

/// How a family's slots follow from a hole's coordinates.
pub(super) struct Coords<'a, 'i> {
    /// The hole.
    pub hole: &'a str,
    /// Extent of each coordinate with the name of its array of strides.
    pub strided: &'a [(Number<'i>, &'a str)],
    /// Extent of the columns, which are side by side where the slot's bit in `slot_cols` is set; 0 where the hole has
    /// no columns.
    pub columns: Option<Number<'i>>,
}

/// Adds the accesses to the slots that the fill of a hole touches. `offset` names the array of first elements.
pub(super) fn add<'i>(
    call: &Call<'i>,
    mut footprint: Footprint<'i>,
    offset: &str,
    coords: &Coords<'_, 'i>,
) -> Result<Footprint<'i>, Wrong> {
    let Some(fill) = call.call.holes.iter().find(|h| h.hole == coords.hole) else { return Ok(footprint) };
    for slot in 0..call.call.slots.len() {
        if !fill_touches(fill, slot) {
            continue;
        }
        let mut accesses = Accesses::new(4, call.stride_at(offset, slot)?);
        for (extent, strides) in coords.strided {
            accesses = accesses.axis(*extent, call.stride_at(strides, slot)?);
        }
        if let Some(columns) = coords.columns {
            let step = call.spec("slot_cols")? >> slot & 1;
            accesses = accesses.axis(columns, step);
        }
        footprint.accesses.push((Port::Slot(slot), accesses));
    }
    Ok(footprint)
}

/// With four columns at once, what a slot adds to them is a multiple of four.
pub(super) fn aligned(call: &Call<'_>, arrays: &[&str]) -> Result<(), Wrong> {
    let columns = call.spec("slot_cols")?;
    for slot in (0..call.call.slots.len()).filter(|s| columns >> s & 1 == 1) {
        for array in arrays {
            let n = call.stride_at(array, slot)?;
            law(n.is_multiple_of(4), || {
                format!("`vec` reads four columns at once, and `{array}` of slot {slot} is {n}")
            })?;
        }
    }
    Ok(())
}
