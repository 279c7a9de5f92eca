//! Softmax, along rows or along an axis before the innermost.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law, product};
use super::slots::{self, Coords};
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("softmax_rows", rows), ("softmax_columns", columns)];

/// `softmax_rows`.
fn rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    call.flag("log")?;
    let (footprint, rows, n) = row_kernel(call)?;
    let strided = [(rows, "slot_row")];
    let load = Coords { hole: "load", strided: &strided, columns: Some(n) };
    let epilogue = Coords { hole: "epilogue", ..load };
    let footprint = Footprint { axis: Some([rows, n, 1.into()]), ..footprint };
    let footprint = footprint.operand(1, Accesses::dense(4, product(&[rows, n])));
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}

/// What kernels over rows share (`rows.glsl`): the operand, lanes, what a thread keeps in registers.
pub(super) fn row_kernel<'i>(call: &Call<'i>) -> Result<(Footprint<'i>, Number<'i>, Number<'i>), Wrong> {
    let [rows, n] = call.counts(["rows", "n"])?;
    let [x_row] = call.strides(["x_row"])?;
    let threads = call.define("THREADS").unwrap_or(256);
    let lanes = call.power_of_two("lanes", threads)?;
    if let Some(kept) = call.define("KEEP_ROW") {
        let capacity = 4 * lanes * kept;
        law(n <= capacity, || format!("rows of {n} elements, {lanes} lanes keep {capacity}"))?;
    }
    if call.flag("vec")? {
        by_four("`vec`", &[n, x_row])?;
        slots::aligned(call, &["slot_offset", "slot_row"])?;
    }
    iteration(&[rows, n])?;
    let groups = iteration(&[rows, lanes.into()])?.div_ceil(threads);
    Ok((Footprint::new(groups, threads).operand(0, Accesses::words().axis(rows, x_row).axis(n, 1)), rows, n))
}

/// `softmax_columns`.
fn columns<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [outer, n, inner] = call.counts(["outer", "n", "inner"])?;
    call.flag("log")?;
    let all = iteration(&[outer, n, inner])?;
    let columns = call.power_of_two("columns", 256)?;
    let groups = iteration(&[outer, inner])?.div_ceil(columns);
    let footprint = Footprint::new(groups, columns)
        .along([outer, n, inner])
        .operand(0, Accesses::dense(4, all))
        .operand(1, Accesses::dense(4, all));
    let strided = [(outer, "slot_outer"), (n, "slot_row"), (inner, "slot_col")];
    let load = Coords { hole: "load", strided: &strided, columns: None };
    let epilogue = Coords { hole: "epilogue", ..load };
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}
