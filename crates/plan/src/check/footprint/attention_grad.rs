//! Gradients of attention: a group has rows of one head, of a tile's columns of their width.

use super::accesses::Accesses;
use super::attention::{Extents, Rows, lengths, masked, placed};
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::attention::{length, mask};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] =
    &[("attention_grad_queries", queries), ("attention_grad_keys", keys)];

/// Operands by their numbers.
const MASK: usize = 6;
const LENS: usize = 7;
const OFFSETS: usize = 8;
const RESULT: usize = 9;

/// `attention_grad_queries`.
fn queries<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let e = Extents::of(call, None)?;
    let (rows, columns) = (call.defined("BR")?, call.defined("DP")?);
    let groups = iteration(&[e.sq.div_ceil(rows), e.d.div_ceil(columns), e.hq, e.batches])?;
    let dq = result(RESULT, ["grad_b", "grad_h", "grad_row"], [e.hq, e.sq, e.d]);
    gradient(call, &e, groups, &[dq])
}

/// `attention_grad_keys`.
fn keys<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let e = Extents::of(call, None)?;
    let (rows, columns) = (call.defined("BR")?, call.defined("DP")?);
    let groups = iteration(&[e.sk.div_ceil(rows), e.d.max(e.dv).div_ceil(columns), e.heads, e.batches])?;
    let dk = result(RESULT, ["grad_b", "grad_h", "grad_row"], [e.heads, e.sk, e.d]);
    let dv = result(RESULT + 1, ["v_grad_b", "v_grad_h", "v_grad_row"], [e.heads, e.sk, e.dv]);
    gradient(call, &e, groups, &[dk, dv])
}

/// Rows of a result, which begin at its first element.
fn result(operand: usize, strides: [&'static str; 3], [heads, rows, width]: [u64; 3]) -> Rows {
    Rows { operand, at: 0, strides, heads, rows, width }
}

/// All operands, and these results.
fn gradient<'i>(call: &Call<'i>, e: &Extents, groups: u64, results: &[Rows]) -> Result<Footprint<'i>, Wrong> {
    let vec = call.choice("vec", 256)?;
    let mut footprint = Footprint::new(groups, 1);
    for (bit, rows) in factors(call, e)?.iter().enumerate() {
        footprint = footprint.operand(rows.operand, rows.accesses(call, e.batches, vec, bit)?);
    }
    for (i, rows) in results.iter().enumerate() {
        footprint = footprint.operand(rows.operand, rows.accesses(call, e.batches, vec, 6 + i)?);
    }
    filled(call, e, vec)?;
    for sums in [4, 5] {
        footprint = footprint.operand(sums, Accesses::dense(4, iteration(&[e.batches, e.hq, e.sq])?));
    }
    call.flag("capped")?;
    call.own_or_again(call.choice("mask_kind", 3)? as u32 != mask::NONE, MASK, 0)?;
    call.own_or_again(call.choice("length", 3)? as u32 == length::OPERAND, LENS, 0)?;
    footprint = masked(call, footprint, MASK, [e.batches, e.hq, e.sq])?;
    footprint = lengths(call, footprint, LENS, e.batches)?;
    placed(call, footprint, OFFSETS, e.batches)
}

/// Bits 4 and 5 of `vec` are of widths that fill a tile's columns.
fn filled(call: &Call<'_>, e: &Extents, vec: u64) -> Result<(), Wrong> {
    let columns = call.defined("DP")?;
    [(4, e.d), (5, e.dv)].into_iter().try_for_each(|(bit, width)| {
        law(vec >> bit & 1 == 0 || width % columns == 0, || {
            format!("bit {bit} of `vec` for a width of {width}")
        })
    })
}

/// Queries, keys, values and gradients of results.
fn factors(call: &Call<'_>, e: &Extents) -> Result<[Rows; 4], Wrong> {
    let [q_at, k_at, v_at, dy_at] = call.fixed_strides(["q_at", "k_at", "v_at", "dy_at"])?;
    let rows = |operand, at, strides, of| Rows { at, ..result(operand, strides, of) };
    Ok([
        rows(0, q_at, ["q_b", "q_h", "q_row"], [e.hq, e.sq, e.d]),
        rows(1, k_at, ["k_b", "k_h", "k_row"], [e.heads, e.sk, e.d]),
        rows(2, v_at, ["v_b", "v_h", "v_row"], [e.heads, e.sk, e.dv]),
        rows(3, dy_at, ["dy_b", "dy_h", "dy_row"], [e.hq, e.sq, e.dv]),
    ])
}
