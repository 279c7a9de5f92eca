//! Scans: every element of whole axes, run by run.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;
use crate::kernels::scan::TILE;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("scan_floats", floats), ("scan_words", words)];

/// Of elements of this width.
fn scan<'i>(call: &Call<'i>, unit: u64) -> Result<Footprint<'i>, Wrong> {
    let [rows, n, inner, runs] = call.counts(["rows", "n", "inner", "runs"])?;
    for flag in ["product", "exclusive", "reverse"] {
        call.flag(flag)?;
    }
    let size = 1u64 << call.choice("levels", u64::from(TILE.ilog2()) + 1)?;
    law(rows == 0 || inner > 0 && rows % inner == 0, || format!("{rows} rows, {inner} side by side"))?;
    law(runs == n.div_ceil(size), || format!("{runs} runs of {size} for {n} elements"))?;
    let groups = groups(call, [rows, runs, size.into()])?;
    let (all, of_runs) = (iteration(&[rows, n])?, iteration(&[rows, runs])?);
    let [totals, given] = [call.flag("totals")?, call.flag("given")?];
    let y = if totals { of_runs } else { all };
    law(!totals || !given && !call.flag("exclusive")?, || "wholes of what is not whole".to_owned())?;
    call.own_or_again(given, 1, 0)?;
    let axis = Some([rows.checked_div(inner).unwrap_or(0.into()), n, inner]);
    let footprint = Footprint { axis, ..Footprint::new(groups, TILE) };
    let footprint = footprint.operand(0, Accesses::dense(unit, all)).operand(2, Accesses::dense(unit, y));
    Ok(if given { footprint.operand(1, Accesses::dense(unit, of_runs)) } else { footprint })
}

/// Groups of TILE elements: of rows side by side, or of runs one after the other.
fn groups<'i>(call: &Call<'i>, [rows, runs, size]: [Number<'i>; 3]) -> Result<Number<'i>, Wrong> {
    match call.flag("across")? {
        true => iteration(&[runs, iteration(&[rows, size])?.div_ceil(TILE)]),
        false => Ok(iteration(&[rows, runs, size])?.div_ceil(TILE)),
    }
}

/// `scan_floats`.
fn floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    scan(call, 4)
}

/// `scan_words`.
fn words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let pair = call.flag("pair")?;
    law(pair == call.is_wide(0), || format!("`pair` is {pair}, its elements are not"))?;
    scan(call, if pair { 8 } else { 4 })
}
