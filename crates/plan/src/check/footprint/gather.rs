//! Gather. Indices are data: kernels compare them with `axis`.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::slots::{self, Coords};
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("gather", rows), ("gather_words", words)];

struct Rows {
    /// Elements of the table before its axis, along it and after it.
    along: [u64; 3],
    outer: u64,
    /// Words of a row.
    inner: u64,
    count: u64,
    table: u64,
    result: u64,
}

fn read(call: &Call<'_>) -> Result<Rows, Wrong> {
    let [outer, axis, inner, count] = call.counts(["outer", "axis", "inner", "count"])?;
    let (table, result) = (iteration(&[outer, axis, inner])?, iteration(&[outer, count, inner])?);
    let wide = call.flag("wide")?;
    law(wide == call.is_wide(1), || format!("`wide` is {wide}, its indices are not"))?;
    // Elements of 64 bits are two words of the kernel each.
    let words = if call.is_wide(0) { 2 } else { 1 };
    law(inner % words == 0, || format!("{inner} words in rows of 64-bit elements"))?;
    Ok(Rows { along: [outer, axis, inner / words], outer, inner, count, table, result })
}

fn indices(call: &Call<'_>, rows: &Rows) -> Accesses {
    Accesses::dense(if call.is_wide(1) { 8 } else { 4 }, rows.count)
}

impl Rows {
    /// With the axis of the table along which rows are taken.
    fn footprint(&self, groups: u64, stride: u64) -> Footprint {
        Footprint { axis: Some(self.along), ..Footprint::new(groups, stride) }
    }
}

/// `gather`.
fn rows(call: &Call<'_>) -> Result<Footprint, Wrong> {
    let r = read(call)?;
    if call.flag("vec")? {
        by_four("`vec`", &[r.inner as i64])?;
        slots::aligned(call, &["slot_offset", "slot_outer", "slot_row"])?;
    }
    let groups = iteration(&[r.outer, r.count, r.inner.div_ceil(4)])?.div_ceil(256);
    let footprint = r
        .footprint(groups, 256)
        .operand(0, Accesses::dense(call.typed_unit(0), r.table))
        .operand(1, indices(call, &r))
        .operand(2, Accesses::dense(4, r.result));
    let strided = [(r.outer, "slot_outer"), (r.count, "slot_row")];
    let epilogue = Coords { hole: "epilogue", strided: &strided, columns: Some(r.inner) };
    slots::add(call, footprint, "slot_offset", &epilogue)
}

/// `gather_words`.
fn words(call: &Call<'_>) -> Result<Footprint, Wrong> {
    let r = read(call)?;
    Ok(r.footprint(r.result.div_ceil(256), 256)
        .operand(0, Accesses::dense(4, r.table))
        .operand(1, indices(call, &r))
        .operand(2, Accesses::dense(4, r.result)))
}
