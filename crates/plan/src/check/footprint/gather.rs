//! Gather. Indices are data: kernels compare them with `axis`.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::codes::{self, Operands};
use super::slots::{self, Coords};
use super::tuple::Tuple;
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] =
    &[("gather", rows), ("gather_codes", coded), ("gather_words", words), ("gather_tuples", tuples)];

struct Rows<'i> {
    /// Elements of the table before its axis, along it and after it.
    along: [Number<'i>; 3],
    outer: Number<'i>,
    /// Words of a row.
    inner: Number<'i>,
    count: Number<'i>,
    table: Number<'i>,
    result: Number<'i>,
}

fn read<'i>(call: &Call<'i>) -> Result<Rows<'i>, Wrong> {
    let [outer, axis, inner, count] = call.counts(["outer", "axis", "inner", "count"])?;
    let (table, result) = (iteration(&[outer, axis, inner])?, iteration(&[outer, count, inner])?);
    let wide = call.flag("wide")?;
    law(wide == call.is_wide(1), || format!("`wide` is {wide}, its indices are not"))?;
    // Elements of 64 bits are two words of the kernel each.
    let words = if call.is_wide(0) { 2 } else { 1 };
    law(inner % words == 0, || format!("{inner} words in rows of 64-bit elements"))?;
    Ok(Rows { along: [outer, axis, inner / words], outer, inner, count, table, result })
}

fn indices<'i>(call: &Call<'i>, rows: &Rows<'i>) -> Accesses<'i> {
    Accesses::dense(if call.is_wide(1) { 8 } else { 4 }, rows.count)
}

impl<'i> Rows<'i> {
    /// With the axis of the table along which rows are taken.
    fn footprint(&self, groups: Number<'i>, stride: u64) -> Footprint<'i> {
        Footprint { axis: Some(self.along), ..Footprint::new(groups, stride) }
    }
}

/// `gather`.
fn rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let r = read(call)?;
    let footprint = vectors(call, &r)?
        .operand(0, Accesses::dense(call.typed_unit(0), r.table))
        .operand(1, indices(call, &r))
        .operand(2, Accesses::dense(4, r.result));
    through(call, &r, footprint)
}

/// `gather_codes`.
fn coded<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let r = read(call)?;
    let at = Operands { codes: 0, scales: 2, zeros: 3 };
    let (footprint, unit) = codes::with_places(call, vectors(call, &r)?, &at, r.table.fixed_extent())?;
    let footprint = footprint
        .operand(0, Accesses::dense(unit, r.table))
        .operand(1, indices(call, &r))
        .operand(4, Accesses::dense(4, r.result));
    through(call, &r, footprint)
}

/// Threads that take four elements each.
fn vectors<'i>(call: &Call<'i>, r: &Rows<'i>) -> Result<Footprint<'i>, Wrong> {
    if call.flag("vec")? {
        by_four("`vec`", &[r.inner])?;
        slots::aligned(call, &["slot_offset", "slot_outer", "slot_row"])?;
    }
    let groups = iteration(&[r.outer, r.count, r.inner.div_ceil(4)])?.div_ceil(256);
    Ok(r.footprint(groups, 256))
}

/// Adds the slots of the hole.
fn through<'i>(call: &Call<'i>, r: &Rows<'i>, footprint: Footprint<'i>) -> Result<Footprint<'i>, Wrong> {
    let strided = [(r.outer, "slot_outer"), (r.count, "slot_row")];
    let epilogue = Coords { hole: "epilogue", strided: &strided, columns: Some(r.inner) };
    slots::add(call, footprint, "slot_offset", &epilogue)
}

/// `gather_words`.
fn words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let r = read(call)?;
    Ok(r.footprint(r.result.div_ceil(256), 256)
        .operand(0, Accesses::dense(4, r.table))
        .operand(1, indices(call, &r))
        .operand(2, Accesses::dense(4, r.result)))
}

/// `gather_tuples`.
fn tuples<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [outer, count, inner] = call.counts(["outer", "count", "inner"])?;
    let (tuple, elements) = (Tuple::of(call, 1)?, call.flag("elements")?);
    law(!elements || tuple.parts == 1, || format!("an element has {} indices", tuple.parts))?;
    let pair = call.flag("pair")?;
    law(pair == call.is_wide(0), || format!("`pair` is {pair}, its elements are not"))?;
    let result = iteration(&[outer, count, inner])?;
    let tuples = if elements { result } else { outer * count };
    let unit = if pair { 8 } else { 4 };
    Ok(Footprint::new(result.div_ceil(256), 256)
        .operand(0, tuple.table(unit, outer, inner)?)
        .operand(1, tuple.indices(tuples)?)
        .operand(2, Accesses::dense(unit, result)))
}
