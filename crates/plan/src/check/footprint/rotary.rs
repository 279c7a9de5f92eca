//! Rotary position embedding. Positions are data: kernels compare them with `table`.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::order::Order;
use super::{Footprint, Rule, Wrong};
use crate::kernels::rotary::{position, source};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("rotary", rotary)];

/// `rotary`.
fn rotary<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [batch, seq, heads, table] = call.fixed_counts(["batch", "seq", "heads", "table"])?;
    let (dim, rotated) = (call.spec("dim")?, call.spec("n_rot")?);
    law(rotated % 2 == 0 && rotated <= dim && dim > 0, || {
        format!("{rotated} of {dim} elements are rotated")
    })?;
    call.flag("interleaved")?;
    let half = rotated / 2;
    let groups = iteration(&[batch, seq, heads, dim - half])?.div_ceil(256);
    let [offset] = call.fixed_strides(["x_offset"])?;
    let x = call.fixed_strides(["x_batch", "x_seq", "x_head"])?;
    let y = call.fixed_strides(["y_batch", "y_seq", "y_head"])?;
    let rows = |accesses: Accesses<'i>, [b, s, h]: [i64; 3]| {
        accesses.axis(batch, b).axis(seq, s).axis(heads, h).axis(dim, 1).ordered(Order::HeadsAndRows)
    };
    let footprint = Footprint::new(groups, 256)
        .operand(0, rows(Accesses::new(4, offset), x))
        .operand(4, rows(Accesses::words(), y));
    let footprint = angles(call, footprint, Table { batch, seq, rows: table, half })?;
    positions(call, footprint, batch, seq)
}

/// What angles are read by.
struct Table {
    batch: u64,
    seq: u64,
    rows: u64,
    /// Pairs that rotate, each of which has an angle.
    half: u64,
}

/// Adds frequencies, or sines and cosines.
fn angles<'i>(call: &Call<'i>, footprint: Footprint<'i>, table: Table) -> Result<Footprint<'i>, Wrong> {
    let Table { batch, seq, rows, half } = table;
    let pairs = half as i64;
    let from = call.choice("source", 4)? as u32;
    if from == source::COMPUTED_OVER_FACTORS {
        call.own_or_again(true, 2, 0)?;
        let footprint = footprint.operand(1, Accesses::dense(16, half));
        return Ok(footprint.operand(2, Accesses::dense(4, half)));
    }
    if from == source::COMPUTED {
        // Two words each; factors that they are over already stand beside them.
        let footprint = footprint.operand(1, Accesses::dense(8, half));
        let over = call.bound_again(2, 0).is_err();
        return Ok(if over { footprint.operand(2, Accesses::dense(4, half)) } else { footprint });
    }
    let accesses = || match from {
        source::TABLE_BY_POSITION => Accesses::words().axis(rows, pairs).axis(half, 1),
        _ => {
            let accesses = Accesses::words().axis(batch, (rows as i64).saturating_mul(pairs));
            accesses.axis(seq, pairs).axis(half, 1)
        }
    };
    Ok(footprint.operand(1, accesses()).operand(2, accesses()))
}

/// Adds positions, where they are an operand.
fn positions<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    batch: u64,
    seq: u64,
) -> Result<Footprint<'i>, Wrong> {
    let [pos_batch] = call.fixed_strides(["pos_batch"])?;
    let places = call.choice("position", 2)? as u32;
    let per_row = call.flag("per_row")?;
    if places == position::BASE {
        call.bound_again(3, 0)?;
        return Ok(footprint.by_argument());
    }
    law(!call.is_wide(3), || "its positions are 64-bit".to_owned())?;
    Ok(footprint.operand(3, Accesses::words().axis(batch, pos_batch).axis(seq, i64::from(per_row))))
}
