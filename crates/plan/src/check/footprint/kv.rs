//! Rows appended to a state. Positions are data: kernels compare them with `capacity`.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("kv_append", append), ("tensor_scatter", tensor_scatter)];

/// Extents of the rows and of the state.
struct Extents {
    outer: u64,
    rows: u64,
    inner: u64,
    capacity: u64,
    /// Outer rows of one position.
    pos_div: u64,
}

impl Extents {
    fn of(call: &Call<'_>) -> Result<Extents, Wrong> {
        let [outer, rows, inner, capacity, pos_div] =
            call.fixed_counts(["outer", "rows", "inner", "capacity", "pos_div"])?;
        law(outer == 0 || pos_div > 0 && outer % pos_div == 0, || {
            format!("{outer} outer rows, {pos_div} a position")
        })?;
        law(capacity > 0 || outer * inner == 0, || "a state without rows".to_owned())?;
        Ok(Extents { outer, rows, inner, capacity, pos_div })
    }

    /// Elements of the state, and words of which each has a thread.
    fn words(&self, unit: u64, split: bool) -> Result<[u64; 2], Wrong> {
        let state = iteration(&[self.outer, self.capacity, self.inner])?;
        let written = iteration(&[self.outer, self.rows, self.inner])?;
        let words = match (unit, split) {
            (4, _) => written,
            (_, false) => written.div_ceil(2),
            (_, true) => state.div_ceil(2),
        };
        Ok([state, words])
    }
}

/// `kv_append`.
fn append<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (e, [outer0]) = (Extents::of(call)?, call.fixed_counts(["outer0"])?);
    law(e.outer == 0 || outer0 > 0 && e.outer % outer0 == 0, || {
        format!("{} outer rows in groups of {outer0}", e.outer)
    })?;
    let [x_outer1, x_outer0, x_row] = call.fixed_strides(["x_outer1", "x_outer0", "x_row"])?;
    call.flag("mode")?;
    let split = call.flag("split")?;
    let unit = call.typed_unit(2).bytes;
    law(split || unit == 4 || e.inner % 2 == 0, || format!("pairs of 16 bits in rows of {}", e.inner))?;
    law(!split || unit == 2, || "`split` is for states of 16 bits".to_owned())?;
    let [state, words] = e.words(unit, split)?;
    let outer1 = e.outer.checked_div(outer0).unwrap_or(0);
    let x = Accesses::words().axis(outer1, x_outer1).axis(outer0, x_outer0);
    let footprint = Footprint::new(words.div_ceil(256), 256)
        .along_of(2, [e.outer, e.capacity, e.inner])
        // A single row may have stride 0, by which more of them would be the same bytes: the view has the count.
        .operand(0, x.axis(e.rows, x_row).axis(e.inner, 1).within(e.outer, &[e.rows], e.inner))
        .operand(2, Accesses::dense(unit, state));
    positions(call, &e, (1, 0), footprint)
}

/// `tensor_scatter`.
fn tensor_scatter<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let e = Extents::of(call)?;
    call.flag("mode")?;
    let [all, update] =
        [iteration(&[e.outer, e.capacity, e.inner])?, iteration(&[e.outer, e.rows, e.inner])?];
    // Elements of 64 bits are two words of the kernel each.
    let words = if call.is_wide(0) { 2 } else { 1 };
    law(e.inner % words == 0, || format!("{} words in rows of 64-bit elements", e.inner))?;
    let axis = [e.outer, e.capacity, e.inner / words];
    let footprint = Footprint::new(all.div_ceil(256), 256)
        .along(axis)
        .operand(0, Accesses::dense(4, all))
        .operand(1, Accesses::dense(4, update))
        .operand(3, Accesses::dense(4, all));
    positions(call, &e, (2, 1), footprint)
}

/// Adds the positions, where they are an operand: that one, else another is bound there again.
fn positions<'i>(
    call: &Call<'i>,
    e: &Extents,
    (operand, again): (usize, usize),
    footprint: Footprint<'i>,
) -> Result<Footprint<'i>, Wrong> {
    let source = call.choice("source", 3)?;
    if source == 0 {
        call.bound_again(operand, again)?;
        return Ok(footprint.by_argument());
    }
    let wide = call.is_wide(operand);
    law(wide == (source == 2), || format!("`source` is {source}, its positions are not"))?;
    let positions = e.outer.checked_div(e.pos_div).unwrap_or(0);
    Ok(footprint.operand(operand, Accesses::dense(if wide { 8 } else { 4 }, positions)))
}
