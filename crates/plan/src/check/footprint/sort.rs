//! Sorts. Places are data: kernels compare each with the axis, and write all of a result whatever they are.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::reduce::{key_kind, key_kind_of};
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;
use crate::kernels::sort::TILE;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] =
    &[("sort_runs", runs), ("sort_select", select), ("sort_merge", merge), ("search_sorted", search)];

/// Extents of what is put in order.
struct Extents<'i> {
    rows: Number<'i>,
    n: Number<'i>,
    /// Places of a row.
    m: Number<'i>,
    inner: Number<'i>,
    runs: Number<'i>,
    /// Places that stay of a run.
    keep: Number<'i>,
    /// Places of a row of the result.
    len: Number<'i>,
}

impl<'i> Extents<'i> {
    /// Of runs of `run` places.
    fn of(call: &Call<'i>, run: Number<'i>) -> Result<Extents<'i>, Wrong> {
        let [rows, n, m, inner, runs, keep, len] =
            call.counts(["rows", "n", "m", "inner", "runs", "keep", "len"])?;
        law(rows == 0 || inner > 0 && rows % inner == 0, || format!("{rows} rows, {inner} side by side"))?;
        let all = m.div_ceil(run.max(1));
        law(runs == all || all == 0 && runs == 1, || format!("{runs} runs of {run} for {m} places"))?;
        law(keep <= run, || format!("{keep} places kept of {run}"))?;
        let whole = len == m && keep == run.min(m);
        law(whole || len == runs.saturating_mul(keep), || {
            format!("{len} places where {runs} runs keep {keep}")
        })?;
        Ok(Extents { rows, n, m, inner, runs, keep, len })
    }

    /// What both kernels touch, beside the places; `groups` work.
    fn footprint(&self, call: &Call<'i>, groups: Number<'i>, stride: u64) -> Result<Footprint<'i>, Wrong> {
        let unit = if key_kind(call)? >= 3 { 8 } else { 4 };
        call.flag("down")?;
        let wide = if call.flag("wide")? { 8 } else { 4 };
        let outer = self.rows.checked_div(self.inner).unwrap_or(0.into());
        let axis = Some([outer, self.n, self.inner]);
        let footprint = Footprint { axis, ..Footprint::new(groups, stride) };
        Ok(footprint
            .operand(0, Accesses::dense(unit, iteration(&[self.rows, self.n])?))
            .operand(2, Accesses::dense(wide, iteration(&[self.rows, self.len])?)))
    }

    fn places(&self) -> Result<Accesses<'i>, Wrong> {
        Ok(Accesses::dense(4, iteration(&[self.rows, self.m])?))
    }
}

/// `sort_runs`.
fn runs<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let size = 1u64 << call.choice("levels", u64::from(TILE.ilog2()) + 1)?;
    let e = Extents::of(call, size.into())?;
    let groups = iteration(&[e.rows, e.runs, size.into()])?.div_ceil(TILE);
    unsorted(call, &e, e.footprint(call, groups, TILE)?)
}

/// Adds the places that are given.
fn unsorted<'i>(call: &Call<'i>, e: &Extents<'i>, footprint: Footprint<'i>) -> Result<Footprint<'i>, Wrong> {
    let given = call.flag("given")?;
    call.own_or_again(given, 1, 0)?;
    if given {
        return Ok(footprint.operand(1, e.places()?));
    }
    law(e.m == e.n, || format!("{} places of an axis of {}", e.m, e.n))?;
    Ok(footprint)
}

/// `sort_select`.
fn select<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [run] = call.counts(["run"])?;
    let e = Extents::of(call, run)?;
    let most = 1u64 << call.choice("levels", u64::from(TILE.ilog2()) + 1)?;
    law(e.keep <= most, || format!("{} places kept of {most} put in order", e.keep))?;
    unsorted(call, &e, e.footprint(call, iteration(&[e.rows, e.runs])?, 1)?)
}

/// `sort_merge`.
fn merge<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [sorted] = call.counts(["sorted"])?;
    law(sorted > 0 && sorted % TILE == 0, || format!("runs of {sorted} places"))?;
    let e = Extents::of(call, sorted * 2)?;
    let groups = iteration(&[e.rows, e.runs, e.keep.div_ceil(TILE)])?;
    Ok(e.footprint(call, groups, 1)?.operand(1, e.places()?))
}

/// `search_sorted`. Where a value is looked for depends on data: anywhere.
fn search<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [m, n] = call.counts(["m", "n"])?;
    let unit = if key_kind(call)? >= 3 { 8 } else { 4 };
    key_kind_of(call, 1)?;
    call.flag("right")?;
    let wide = if call.flag("wide")? { 8 } else { 4 };
    Ok(Footprint::new(n.div_ceil(256), 256)
        .operand(0, Accesses::dense(unit, m))
        .operand(1, Accesses::dense(unit, n))
        .operand(2, Accesses::dense(wide, n)))
}
