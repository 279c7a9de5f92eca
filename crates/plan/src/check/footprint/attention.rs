//! Attention. Lengths are data: kernels clamp them to `sk`.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::order::Order;
use super::{Footprint, Port, Rule, Wrong};
use crate::kernels::attention::{length, mask, place};
use pumice_types::DType;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("attention", tile),
    ("attention_units", units),
    ("attention_lanes", lanes),
    ("attention_split", split),
    ("attention_parts", parts),
    ("attention_merge", merge),
    ("attention_extended", extended),
    ("attention_merge_extended", merge_extended),
];

/// `attention`.
fn tile<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (rows, columns) = (call.defined("BQ")?, call.defined("DP")?);
    attend(call, rows, columns, None)
}

/// `attention_extended`: the tile, and its further operands; of values without a width there is one piece.
fn extended<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (rows, columns) = (call.defined("BQ")?, call.defined("DP")?);
    let e = Extents::of(call, None)?;
    let footprint = attend(call, rows, columns, None)?;
    let pieces = e.dv.div_ceil(columns).max(1);
    let groups = iteration(&[e.sq.div_ceil(rows), pieces, e.hq, e.batches])?;
    let mut footprint = Footprint { groups: groups.into(), ..footprint };
    footprint = placed(call, footprint, 6, e.batches)?;
    let sloped = call.flag("with_alibi")?;
    call.own_or_again(sloped, 8, 0)?;
    if sloped {
        footprint = footprint.operand(8, Accesses::dense(4, e.hq));
    }
    sums(call, footprint, [7, 9, 5], [e.batches, e.hq, e.sq])
}

/// Places of the first queries, the operand of this number.
pub(super) fn placed<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    operand: usize,
    batches: u64,
) -> Result<Footprint<'i>, Wrong> {
    let by_operand = call.choice("place", 3)? as u32 == place::OPERAND;
    call.own_or_again(by_operand, operand, 0)?;
    if !by_operand {
        return Ok(footprint);
    }
    let [of_batch] = call.fixed_strides(["first_place_b"])?;
    Ok(footprint.operand(operand, Accesses::words().axis(batches, of_batch)))
}

/// Sinks, and the logarithms of the sums of all rows: operands of these numbers, the last is that of the result.
fn sums<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    [sinks, lse, y]: [usize; 3],
    [batches, hq, sq]: [u64; 3],
) -> Result<Footprint<'i>, Wrong> {
    let mut footprint = footprint;
    let [sunk, summed] = [call.flag("with_sinks")?, call.flag("with_lse")?];
    call.own_or_again(sunk, sinks, 0)?;
    call.own_or_again(summed, lse, y)?;
    if sunk {
        footprint = footprint.operand(sinks, Accesses::dense(4, hq));
    }
    if summed {
        footprint = footprint.operand(lse, Accesses::dense(4, iteration(&[batches, hq, sq])?));
    }
    Ok(footprint)
}

/// `attention_merge_extended`.
fn merge_extended<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [batches, hq, sq] = call.fixed_counts(["batches", "hq", "sq"])?;
    sums(call, merge(call)?, [2, 3, 1], [batches, hq, sq])
}

/// `attention_units`: a group has 64 queries, and all of the width of keys and values.
fn units<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let width = call.defined("W")?;
    attend(call, 64, width, Some((width, width)))
}

/// `attention_lanes`: a group has all of a key's width.
fn lanes<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let width = call.defined("W")?;
    attend(call, 8 * call.defined("ROWS")?, width, Some((width, u64::MAX)))
}

/// `attention_split`: a group has all of the width of keys and values.
fn split<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (width, lanes) = (call.defined("W")?, call.defined("LANES")?);
    let rows = 32 / lanes.max(1) * call.defined("ROWS")?;
    attend(call, rows, width, Some((width, width)))
}

/// `attention_parts`: each row of the result is as many as there are parts, with four columns more.
fn parts<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    const BESIDE: u64 = 4;
    let (width, rows) = (call.defined("W")?, call.defined("ROWS")?);
    let parts = call.choice("parts", 1 << 16)?;
    law(parts > 0, || "`parts` is 0".to_owned())?;
    let [batches, hq, group, sq, dv] = call.fixed_counts(["batches", "hq", "group", "sq", "dv"])?;
    let footprint = attend(call, rows, width, Some((width, width)))?;
    let heads = hq.checked_div(group).unwrap_or(0);
    let groups = iteration(&[parts, iteration(&[group, sq])?.div_ceil(rows), heads, batches])?;
    let [b, h, row] = call.fixed_strides(["y_b", "y_h", "y_row"])?;
    let y = Accesses::words().axis(batches, b).axis(hq, h).axis(sq, row);
    let y = y.axis(parts, (dv + BESIDE) as i64).axis(dv + BESIDE, 1);
    let accesses = footprint.accesses.into_iter().filter(|(port, _)| *port != Port::Operand(5)).collect();
    Ok(Footprint { accesses, ..Footprint::new(groups, 1) }.operand(5, y))
}

/// `attention_merge`.
fn merge<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    const BESIDE: u64 = 4;
    let [batches, hq, sq, parts, dv] = call.fixed_counts(["batches", "hq", "sq", "parts", "dv"])?;
    let [b, h, row] = call.fixed_strides(["y_b", "y_h", "y_row"])?;
    let quads = call.power_of_two("quads", 64)?;
    law(dv <= 4 * quads, || format!("`quads` is {quads} for a width of {dv}"))?;
    by_four("`attention_merge`", &[dv as i64, b, h, row])?;
    let groups = iteration(&[batches, hq, sq])?;
    let x = Accesses::dense(4, iteration(&[groups, parts, dv + BESIDE])?);
    let x = x.shaped([batches, hq], [sq, parts, dv + BESIDE]);
    let y = Accesses::words().axis(batches, b).axis(hq, h).axis(sq, row).axis(dv, 1);
    Ok(Footprint::new(groups, 1).operand(0, x).operand(1, y.ordered(Order::HeadsAndRows)))
}

/// Extents of one attention.
pub(super) struct Extents {
    /// Batch entries.
    pub batches: u64,
    /// Heads of queries.
    pub hq: u64,
    /// Heads of keys and values.
    pub heads: u64,
    /// Queries of a head.
    pub sq: u64,
    /// Keys of a head.
    pub sk: u64,
    /// Width of queries and keys.
    pub d: u64,
    /// Width of values.
    pub dv: u64,
}

impl Extents {
    /// Of a call, at most so wide.
    pub fn of(call: &Call<'_>, widest: Option<(u64, u64)>) -> Result<Extents, Wrong> {
        let [batches, hq, group, sq, sk, d, dv] =
            call.fixed_counts(["batches", "hq", "group", "sq", "sk", "d", "dv"])?;
        law(hq == 0 || group > 0 && hq % group == 0, || format!("{hq} query heads, {group} a key head"))?;
        if let Some((keys, values)) = widest {
            law(d <= keys && dv <= values, || format!("widths {d} and {dv}, the variant has {keys}"))?;
        }
        Ok(Extents { batches, hq, heads: hq.checked_div(group).unwrap_or(0), sq, sk, d, dv })
    }
}

/// Rows of all heads that a kernel reads or writes.
pub(super) struct Rows {
    /// The operand's number.
    pub operand: usize,
    /// Where the first one begins.
    pub at: i64,
    /// Names of the strides of batches, heads and rows.
    pub strides: [&'static str; 3],
    /// Heads of a batch entry.
    pub heads: u64,
    /// Rows of a head.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
}

impl Rows {
    /// Accesses to all of them. Where bit `bit` of `vec` says so they are read by four.
    pub fn accesses<'i>(
        &self,
        call: &Call<'i>,
        batches: u64,
        vec: u64,
        bit: usize,
    ) -> Result<Accesses<'i>, Wrong> {
        let [b, h, row] = call.fixed_strides(self.strides)?;
        let unit =
            if self.operand == 1 || self.operand == 2 { call.typed_unit(self.operand) } else { 4.into() };
        let strides = [(batches, b), (self.heads, h), (self.rows, row)];
        if vec >> bit & 1 == 1 {
            let odd = strides.iter().any(|&(extent, stride)| extent > 1 && stride % 4 != 0);
            law(!odd && self.at % 4 == 0 && self.width.is_multiple_of(4), || {
                format!("bit {bit} of `vec` for rows that are not aligned")
            })?;
        }
        let accesses = Accesses::new(unit, self.at);
        let accesses = strides.iter().fold(accesses, |w, &(extent, stride)| w.axis(extent, stride));
        Ok(accesses.axis(self.width, 1).ordered(Order::HeadsAndRows))
    }
}

fn attend<'i>(
    call: &Call<'i>,
    rows: u64,
    columns: u64,
    widest: Option<(u64, u64)>,
) -> Result<Footprint<'i>, Wrong> {
    let e = Extents::of(call, widest)?;
    let groups = iteration(&[e.sq.div_ceil(rows), e.dv.div_ceil(columns), e.hq, e.batches])?;
    let vec = call.choice("vec", 64)?;
    let mut footprint = Footprint::new(groups, 1);
    for (bit, rows) in operands(call, &e)?.iter().enumerate() {
        footprint = footprint.operand(rows.operand, rows.accesses(call, e.batches, vec, bit)?);
    }
    for (bit, width) in [(4, e.d), (5, e.dv)] {
        law(vec >> bit & 1 == 0 || width % columns == 0, || {
            format!("bit {bit} of `vec` for a width of {width}")
        })?;
    }
    call.flag("capped")?;
    footprint = masked(call, footprint, 3, [e.batches, e.hq, e.sq])?;
    lengths(call, footprint, 4, e.batches)
}

/// Queries, keys, values and results.
fn operands(call: &Call<'_>, e: &Extents) -> Result<[Rows; 4], Wrong> {
    let [q_at, k_at, v_at] = call.fixed_strides(["q_at", "k_at", "v_at"])?;
    let rows = |operand, at, strides, [heads, rows, width]: [u64; 3]| Rows {
        operand,
        at,
        strides,
        heads,
        rows,
        width,
    };
    Ok([
        rows(0, q_at, ["q_b", "q_h", "q_row"], [e.hq, e.sq, e.d]),
        rows(1, k_at, ["k_b", "k_h", "k_row"], [e.heads, e.sk, e.d]),
        rows(2, v_at, ["v_b", "v_h", "v_row"], [e.heads, e.sk, e.dv]),
        rows(5, 0, ["y_b", "y_h", "y_row"], [e.hq, e.sq, e.dv]),
    ])
}

/// The mask, the operand of this number.
pub(super) fn masked<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    operand: usize,
    [batches, hq, sq]: [u64; 3],
) -> Result<Footprint<'i>, Wrong> {
    let kind = call.choice("mask_kind", 3)? as u32;
    if kind == mask::NONE {
        return Ok(footprint);
    }
    let at = call.call.operands.get(operand).and_then(|at| call.step.uses.get(usize::from(at.0)));
    let boolean = at.is_some_and(|u| u.view.dtype == DType::Bool);
    law(boolean == (kind == mask::BOOL), || format!("`mask_kind` is {kind}, its mask is not"))?;
    let [keys] = call.fixed_counts(["mask_len"])?;
    let [at, b, h, row, col] = call.fixed_strides(["mask_at", "mask_b", "mask_h", "mask_row", "mask_col"])?;
    let accesses = Accesses::new(4, at).axis(batches, b).axis(hq, h).axis(sq, row).axis(keys, col);
    Ok(footprint.operand(operand, accesses))
}

/// The lengths, the operand of this number.
pub(super) fn lengths<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    operand: usize,
    batches: u64,
) -> Result<Footprint<'i>, Wrong> {
    match call.choice("length", 3)? as u32 {
        length::OPERAND => {
            let [len_b] = call.fixed_strides(["len_b"])?;
            Ok(footprint.operand(operand, Accesses::words().axis(batches, len_b)))
        }
        _ => Ok(footprint),
    }
}
