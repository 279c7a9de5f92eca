//! Reductions and arg-extrema.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law, product};
use super::order::Order;
use super::slots::{self, Coords};
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;
use crate::kernels::reduce::op;
use crate::step::Use;
use pumice_types::DType;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("reduce_rows", rows),
    ("reduce_columns", columns),
    ("reduce_strided", strided),
    ("reduce_int", int),
    ("arg_reduce", arg),
];

/// Sum, mean, maximum, minimum, product; a mean is of as many elements as are added.
fn operation<'i>(call: &Call<'i>, n: Number<'i>) -> Result<(), Wrong> {
    let [count] = call.counts(["count"])?;
    let mean = call.choice("op", 5)? == u64::from(op::MEAN);
    law(!mean || count == n, || format!("a sum of {n} elements is divided by {count}"))
}

/// `reduce_rows`.
fn rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n] = call.counts(["rows", "n"])?;
    let [x_row] = call.strides(["x_row"])?;
    operation(call, n)?;
    let lanes = call.power_of_two("lanes", 256)?;
    if call.flag("vec")? {
        by_four("`vec`", &[n, x_row])?;
        slots::aligned(call, &["slot_offset", "slot_row"])?;
    }
    let groups = iteration(&[rows, lanes.into()])?.div_ceil(256);
    let footprint = Footprint::new(groups, 256)
        .operand(0, Accesses::words().axis(rows, x_row).axis(n, 1))
        .operand(1, Accesses::dense(4, rows));
    let strided = [(rows, "slot_row")];
    let load = Coords { hole: "load", strided: &strided, columns: Some(n) };
    let epilogue = Coords { hole: "epilogue", strided: &strided, columns: None };
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}

/// `reduce_columns`.
fn columns<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [outer, red, inner] = call.counts(["outer", "red", "inner"])?;
    let [x_outer, x_red] = call.strides(["x_outer", "x_red"])?;
    operation(call, red)?;
    let columns = call.power_of_two("columns", 64)?;
    if call.flag("vec")? {
        by_four("`vec`", &[inner, x_outer, x_red])?;
        slots::aligned(call, &["slot_offset", "slot_outer", "slot_row"])?;
    }
    let footprint = Footprint::new(iteration(&[outer, inner.div_ceil(4 * columns)])?, 1)
        .operand(0, Accesses::words().axis(outer, x_outer).axis(red, x_red).axis(inner, 1))
        .operand(1, Accesses::dense(4, product(&[outer, inner])));
    let (both, one) = ([(outer, "slot_outer"), (red, "slot_row")], [(outer, "slot_outer")]);
    let load = Coords { hole: "load", strided: &both, columns: Some(inner) };
    let epilogue = Coords { hole: "epilogue", strided: &one, columns: Some(inner) };
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}

/// Kept and reduced axes of the kernels that take any.
fn accessed<'i>(call: &Call<'i>, unit: u64) -> Result<(Number<'i>, Accesses<'i>, Number<'i>), Wrong> {
    let [outputs, n] = call.counts(["outputs", "n"])?;
    let [offset] = call.strides(["x_offset"])?;
    operation(call, n)?;
    let lanes = call.power_of_two("lanes", 256)?;
    let mut accesses = Accesses::new(unit, offset).ordered(Order::TwoHalves);
    for (extents, strides, all) in [("kept", "kept_stride", outputs), ("red", "red_stride", n)] {
        let mut counts = [Number::from(0); 4];
        for (d, count) in counts.iter_mut().enumerate() {
            *count = call.count_at(extents, d)?;
            accesses = accesses.axis(*count, call.stride_at(strides, d)?);
        }
        // Elements beyond the axes would be accessed again from the first.
        law(iteration(&counts)? == all, || {
            format!("the axes `{extents}` are {counts:?}, of {all} elements")
        })?;
    }
    Ok((outputs, accesses, iteration(&[outputs, lanes.into()])?.div_ceil(256)))
}

/// `reduce_strided`.
fn strided<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (outputs, accesses, groups) = accessed(call, 4)?;
    let footprint = Footprint::new(groups, 256).operand(0, accesses).operand(1, Accesses::dense(4, outputs));
    let strided = [(outputs, "slot_row")];
    let load = Coords { hole: "load", strided: &strided, columns: None };
    let epilogue = Coords { hole: "epilogue", strided: &strided, columns: None };
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}

/// `reduce_int`: kind and width are those of the operand.
fn int<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (kind, bits) = match operand(call, 0)?.view.dtype {
        DType::I8 => (0, 8),
        DType::I16 => (0, 16),
        DType::I32 => (0, 32),
        DType::U8 => (1, 8),
        DType::U16 => (1, 16),
        DType::U32 => (1, 32),
        DType::Bool => (1, 1),
        DType::I64 => (2, 32),
        DType::U64 => (3, 32),
        other => return Err(format!("it reduces {other}")),
    };
    let stated = (call.spec("kind")?, call.spec("bits")?);
    law(stated == (kind, bits), || {
        format!("`kind` and `bits` are {stated:?}, its operand has {:?}", (kind, bits))
    })?;
    let unit = if kind >= 2 { 8 } else { 4 };
    let (outputs, accesses, groups) = accessed(call, unit)?;
    Ok(Footprint::new(groups, 256).operand(0, accesses).operand(1, Accesses::dense(unit, outputs)))
}

/// `arg_reduce`.
fn arg<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [outputs, n, inner] = call.counts(["outputs", "n", "inner"])?;
    let threads = call.define("THREADS").unwrap_or(256);
    let lanes = call.power_of_two("lanes", threads)?;
    let kind = key_kind(call)?;
    law(n > 0 || outputs == 0, || "there is no extremum of nothing".to_owned())?;
    law(outputs == 0 || inner > 0 && outputs % inner == 0, || {
        format!("{outputs} outputs, {inner} side by side")
    })?;
    if call.flag("vec")? {
        law(inner == 1 && kind < 3, || "`vec` reads rows of words alone".to_owned())?;
        by_four("`vec`", &[n])?;
    }
    call.flag("min")?;
    call.flag("last")?;
    let wide = if call.flag("wide")? { 8 } else { 4 };
    let unit = if kind >= 3 { 8 } else { 4 };
    let all = iteration(&[outputs, n])?;
    let groups = iteration(&[outputs, lanes.into()])?.div_ceil(threads);
    let axis = Some([outputs.checked_div(inner).unwrap_or(0.into()), n, inner]);
    let footprint = Footprint { axis, ..Footprint::new(groups, threads) };
    Ok(footprint.operand(0, Accesses::dense(unit, all)).operand(1, Accesses::dense(wide, outputs)))
}

/// `kind` of kernels that compare elements, which is that of operand 0; from 3 on two words an element.
pub(super) fn key_kind(call: &Call<'_>) -> Result<u64, Wrong> {
    key_kind_of(call, 0)
}

/// `kind` where it is that of operand k.
pub(super) fn key_kind_of(call: &Call<'_>, k: usize) -> Result<u64, Wrong> {
    let kind = match operand(call, k)?.view.dtype {
        DType::F32 | DType::F16 | DType::BF16 => 0,
        DType::I8 | DType::I16 | DType::I32 => 1,
        DType::I64 => 3,
        DType::U64 => 4,
        DType::U8 | DType::U16 | DType::U32 | DType::Bool => 2,
    };
    let stated = call.spec("kind")?;
    law(stated == kind, || format!("`kind` is {stated}, operand {k} has {kind}"))?;
    Ok(kind)
}

fn operand<'a>(call: &'a Call<'_>, k: usize) -> Result<&'a Use, Wrong> {
    let used = call.call.operands.get(k).and_then(|at| call.step.uses.get(usize::from(at.0)));
    used.ok_or_else(|| format!("operand {k} has no use"))
}
