//! Gradients of layer norm and RMS norm.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law, product};
use super::slots::{self, Coords};
use super::softmax::row_kernel;
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] =
    &[("norm_grad", by_rows), ("norm_sums_columns", sums_of_columns), ("norm_sums_rows", sums_of_rows)];

/// `norm_grad`.
fn by_rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (mut footprint, rows, n) = row_kernel(call)?;
    let (scaled, statistics, centred) =
        (call.flag("scaled")?, call.flag("statistics")?, call.flag("centred")?);
    call.own_or_again(scaled, 2, 0)?;
    call.own_or_again(statistics && centred, 4, 3)?;
    call.own_or_again(statistics, 5, 3)?;
    let all = product(&[rows, n]);
    footprint = footprint.operand(1, Accesses::dense(4, all)).operand(3, Accesses::dense(4, all));
    if scaled {
        footprint = footprint.operand(2, Accesses::dense(4, n));
    }
    for (operand, written) in [(4, statistics && centred), (5, statistics)] {
        if written {
            footprint = footprint.operand(operand, Accesses::dense(4, rows));
        }
    }
    let strided = [(rows, "slot_row")];
    let coords = Coords { hole: "epilogue", strided: &strided, columns: Some(n) };
    slots::add(call, footprint, "slot_offset", &coords)
}

/// `norm_sums_columns`.
fn sums_of_columns<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [outer, red, inner] = call.counts(["outer", "red", "inner"])?;
    let columns = call.power_of_two("columns", 64)?;
    if call.flag("vec")? {
        by_four("`vec`", &[inner])?;
    }
    let [run] = call.fixed_counts(["of_run"])?;
    longest(run)?;
    let runs = red.div_ceil(run);
    let axes = [outer, red, inner];
    let along = call.choice("along", 3)? as usize;
    let groups = iteration(&[outer, runs, inner.div_ceil(4 * columns)])?;
    sums(call, Footprint::new(groups, 1), axes, along, product(&[outer, runs, inner]))
}

/// `norm_sums_rows`.
fn sums_of_rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n] = call.counts(["rows", "n"])?;
    let lanes = call.power_of_two("lanes", 256)?;
    let [run] = call.fixed_counts(["of_run"])?;
    longest(run)?;
    if call.flag("vec")? {
        by_four("`vec`", &[n, run.into()])?;
    }
    let results = product(&[rows, n.div_ceil(run)]);
    let groups = iteration(&[results, lanes.into()])?.div_ceil(256);
    let along = call.choice("along", 2)? as usize;
    sums(call, Footprint::new(groups, 256), [rows, n, 1.into()], along, results)
}

fn longest(run: u64) -> Result<(), Wrong> {
    law((1..=512).contains(&run), || format!("`of_run` is {run}, chains are made for up to 512"))
}

/// How many places of the statistics there are: in whole periods along an axis, unless nothing is summed.
fn places<'i>(call: &Call<'i>, all: Number<'i>, along: Number<'i>) -> Result<Number<'i>, Wrong> {
    let [after, places] = call.counts(["after", "places"])?;
    let period = product(&[after, places]);
    law(all == 0 || period > 0 && along % period == 0, || {
        format!("{places} places, {after} times each, along an axis of {along}")
    })?;
    Ok(places)
}

/// What both touch; each place of the statistics that lie along one of the axes.
fn sums<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    axes: [Number<'i>; 3],
    along: usize,
    results: Number<'i>,
) -> Result<Footprint<'i>, Wrong> {
    let all = iteration(&axes)?;
    let places = places(call, all, axes[along])?;
    let centred = call.flag("centred")?;
    call.own_or_again(centred, 3, 0)?;
    let mut footprint =
        footprint.along(axes).operand(0, Accesses::dense(4, all)).operand(1, Accesses::dense(4, all));
    footprint = footprint.operand(2, Accesses::dense(4, places));
    if centred {
        footprint = footprint.operand(3, Accesses::dense(4, places));
    }
    Ok(footprint.operand(4, Accesses::dense(4, results)).operand(5, Accesses::dense(4, results)))
}
