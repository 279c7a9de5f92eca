//! Matrix products. All kernels take the same arguments; tiles, modes and tails differ.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law, product};
use super::codes::{self, Operands, Places};
use super::order::Order;
use super::{Footprint, Port, Rule, Together, Wrong, fill_touches};
use crate::check::numbers::Number;
use crate::view::Unit;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("matmul_f32", tile),
    ("matmul_f32_lanes", lanes),
    ("matmul_f32_dot_lanes", dot_lanes),
    ("matmul_f32_dot", dot),
    ("matmul_f32_columns", columns),
    ("matmul_codes", tile),
    ("matmul_codes_lanes", lanes),
    ("matmul_codes_dot", dot),
];

/// A product at some bindings.
struct Product<'i> {
    m: Number<'i>,
    n: Number<'i>,
    k: Number<'i>,
    batch: [Number<'i>; 2],
}

/// `matmul_f32`.
fn tile<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let p = read(call)?;
    tails(call, p.k, [p.m, p.n])?;
    footprint(call, &p, call.defined("BM")?, call.defined("BN")?)
}

/// What a tile says of what is left over: `k_tail` and `edge`. A step of matrix units counts its slices.
pub(super) fn tails<'i, N: Into<Number<'i>>>(call: &Call<'_>, k: N, [m, n]: [N; 2]) -> Result<(), Wrong> {
    let (k, m, n) = (k.into(), m.into(), n.into());
    let (bm, bn, bk) = (call.defined("BM")?, call.defined("BN")?, call.defined("BK")?);
    let step = if call.define("UNITS").is_some() { bk } else { bk * call.defined("SK")? };
    match call.choice("k_tail", 3)? {
        0 => law(k.is_multiple_of(step), || format!("`k_tail` is 0 for k = {k}"))?,
        2 => law(k >= bk, || format!("`k_tail` is 2 for k = {k}"))?,
        _ => {}
    }
    let whole = m.is_multiple_of(bm) && n.is_multiple_of(bn);
    law(call.flag("edge")? || whole, || format!("`edge` is 0 for {m} x {n}"))
}

/// `matmul_f32_lanes`.
fn lanes<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let p = read(call)?;
    footprint(call, &p, call.defined("MR")?, 32 * call.defined("NQ")?)
}

/// `matmul_f32_dot_lanes`.
fn dot_lanes<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    footprint(call, &read(call)?, 1, 32)
}

/// `matmul_f32_dot`.
fn dot<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let p = read(call)?;
    footprint(call, &p, call.defined("MM")?, 4 * call.defined("NQ")?)
}

/// `matmul_f32_columns`.
fn columns<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let p = read(call)?;
    footprint(call, &p, call.defined("MM")?, 4 * call.power_of_two("quads", 128)?)
}

fn read<'i>(call: &Call<'i>) -> Result<Product<'i>, Wrong> {
    let [m, n, k, batches, inner] = call.counts(["m", "n", "k", "batches", "inner"])?;
    law(batches == 0 || inner > 0 && batches % inner == 0, || {
        format!("{batches} batches in groups of {inner}")
    })?;
    Ok(Product { m, n, k, batch: [batches.checked_div(inner).unwrap_or(0.into()), inner] })
}

impl<'i> Product<'i> {
    /// A matrix for every batch, from an element on.
    fn accesses(
        &self,
        (unit, at): (impl Into<Unit>, Number<'i>),
        batch: [Number<'i>; 2],
        rows: (Number<'i>, Number<'i>),
        cols: (Number<'i>, Number<'i>),
    ) -> Accesses<'i> {
        let accesses = Accesses::new(unit, at).axis(self.batch[0], batch[0]).axis(self.batch[1], batch[1]);
        accesses.axis(rows.0, rows.1).axis(cols.0, cols.1)
    }
}

fn footprint<'i>(call: &Call<'i>, p: &Product<'i>, rows: u64, columns: u64) -> Result<Footprint<'i>, Wrong> {
    let groups = iteration(&[p.m.div_ceil(rows), p.n.div_ceil(columns), product(&p.batch)])?;
    let [at, b0, b1, row, col] = call.strides(["a_at", "a_b0", "a_b1", "a_row", "a_col"])?;
    mode(call, "a_mode", [at, b0, b1], (col, p.k), (row, p.m))?;
    let a = p.accesses((call.typed_unit(0), at), [b0, b1], (p.m, row), (p.k, col)).ordered(Order::LastTwo);
    let [at, b0, b1, row, col] = call.strides(["b_at", "b_b0", "b_b1", "b_row", "b_col"])?;
    mode(call, "b_mode", [at, b0, b1], (row, p.k), (col, p.n))?;
    let b = |unit: Unit| p.accesses((unit, at), [b0, b1], (p.k, row), (p.n, col)).ordered(Order::LastTwo);
    let result = call.decl.operands.len() - 1;
    let footprint = Footprint { together: Together::Slots(result), ..Footprint::new(groups, 1) };
    let (footprint, unit) = match result {
        2 => (footprint, call.typed_unit(1)),
        _ => coded(call, footprint, b(Unit::of_bytes(1)).largest_index().map(Number::fixed_extent))?,
    };
    let footprint = footprint.operand(0, a).operand(1, b(unit)).operand(result, stored(call, p)?);
    slots(call, p, footprint)
}

/// Scales and zero points of a right operand that is codes, of which the last one read is known.
fn coded<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    last: Option<u64>,
) -> Result<(Footprint<'i>, Unit), Wrong> {
    let [scales] = call.fixed_counts(["scales"])?;
    let [inner, extent, block] = ["code_inner", "code_extent", "code_block"].map(|name| call.spec(name));
    let [outer, axis, along] = ["code_outer", "code_axis", "code_along"].map(|name| call.spec(name));
    let places = Places { inner: inner?, extent: extent?, block: block?, steps: [outer?, axis?, along?] };
    call.flag("code_shared")?;
    let at = Operands { codes: 1, scales: 2, zeros: 3 };
    codes::beside(call, footprint, &at, (last.map_or(0, |last| last.saturating_add(1)), scales), &places)
}

/// The result.
fn stored<'i>(call: &Call<'i>, p: &Product<'i>) -> Result<Accesses<'i>, Wrong> {
    let [at, b0, b1, row] = call.strides(["y_at", "y_b0", "y_b1", "y_row"])?;
    if call.flag("vec_y")? {
        by_four("`vec_y`", &[p.n, at, moved(p.batch[0], b0), moved(p.batch[1], b1), moved(p.m, row)])?;
    }
    Ok(p.accesses((4, at), [b0, b1], (p.m, row), (p.n, 1.into())))
}

/// Adds the slots that the epilogue touches.
fn slots<'i>(call: &Call<'i>, p: &Product<'i>, mut footprint: Footprint<'i>) -> Result<Footprint<'i>, Wrong> {
    for slot in 0..call.call.slots.len() {
        if call.call.holes.iter().any(|h| fill_touches(h, slot)) {
            let at = |array| call.stride_at(array, slot);
            let batch = [at("slot_b0")?, at("slot_b1")?];
            let matrix =
                p.accesses((4, at("slot_at")?), batch, (p.m, at("slot_row")?), (p.n, at("slot_col")?));
            footprint.accesses.push((Port::Slot(slot), matrix));
        }
    }
    Ok(footprint)
}

/// A stride that nothing moves along is no stride.
fn moved<'i>(extent: Number<'i>, stride: Number<'i>) -> Number<'i> {
    if extent > 1 { stride } else { 0.into() }
}

/// Modes 1 and 3 read four elements at once, along k and along the free axis.
pub(super) fn mode<'i, S: Into<Number<'i>>, N: Into<Number<'i>>>(
    call: &Call<'_>,
    name: &str,
    at: [S; 3],
    (along_k, k): (S, N),
    (along_free, free): (S, N),
) -> Result<(), Wrong> {
    let (stride, other, extent) = match call.choice(name, 4)? {
        1 => (along_k.into(), along_free.into(), k.into()),
        3 => (along_free.into(), along_k.into(), free.into()),
        _ => return Ok(()),
    };
    law(stride == 1, || format!("`{name}` reads four elements at once that are {stride} apart"))?;
    let [at, b0, b1] = at.map(Into::into);
    by_four(&format!("`{name}`"), &[at, b0, b1, other, extent])
}
