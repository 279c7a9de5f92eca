//! Choices: a group for each row.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::choice::EXPERTS;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("sample_sorted", sample_sorted), ("moe_router", moe_router)];

/// `sample_sorted`: of weights, sums and ids any; the ids that are there are values.
fn sample_sorted<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n] = call.fixed_counts(["rows", "n"])?;
    law(n > 0, || "rows of nothing to draw".to_owned())?;
    let of_rows = iteration(&[rows, n])?;
    let footprint = Footprint::new(rows, 1);
    let footprint = (0..3).fold(footprint, |f, operand| f.operand(operand, Accesses::dense(4, of_rows)));
    let footprint =
        [3, 4, 9, 10].into_iter().fold(footprint, |f, operand| f.operand(operand, Accesses::dense(4, rows)));
    options(call, rows, footprint)
}

/// With what is read of each option.
fn options<'i>(call: &Call<'i>, rows: u64, mut footprint: Footprint<'i>) -> Result<Footprint<'i>, Wrong> {
    let (options, by_row) = (call.choice("options", 16)?, call.choice("by_row", 16)?);
    for (option, operand) in (5..9).enumerate() {
        let [given, of_rows] = [options, by_row].map(|bits| bits >> option & 1 == 1);
        call.own_or_again(given, operand, 4)?;
        law(given || !of_rows, || format!("rows have option {option}, which is not there"))?;
        if given {
            let count = if of_rows { rows } else { rows.min(1) };
            footprint = footprint.operand(operand, Accesses::dense(4, count));
        }
    }
    Ok(footprint)
}

/// `moe_router`.
fn moe_router<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, experts, k] = call.fixed_counts(["rows", "experts", "k"])?;
    groups(call, experts, k)?;
    call.choice("gate", 4)?;
    call.flag("after")?;
    call.flag("normed")?;
    let biased = call.flag("biased")?;
    call.own_or_again(biased, 1, 0)?;
    let (all, chosen) = (iteration(&[rows, experts])?, iteration(&[rows, k])?);
    let footprint = Footprint::new(rows, 1).operand(0, Accesses::dense(4, all));
    let footprint = footprint.operand(2, Accesses::dense(4, chosen)).operand(3, Accesses::dense(4, chosen));
    Ok(if biased { footprint.operand(1, Accesses::dense(4, experts)) } else { footprint })
}

/// Enough experts compete, and shared memory holds all of them.
fn groups(call: &Call<'_>, experts: u64, k: u64) -> Result<(), Wrong> {
    let [groups, kept] = call.fixed_counts(["groups", "groups_kept"])?;
    law((1..=EXPERTS).contains(&experts), || format!("{experts} experts"))?;
    law(groups > 0 && experts.is_multiple_of(groups), || format!("{experts} experts in {groups} groups"))?;
    law(kept <= groups && k <= experts / groups * kept, || {
        format!("{k} experts of {kept} groups of {groups}")
    })
}
