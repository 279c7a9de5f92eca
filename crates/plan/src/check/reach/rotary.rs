//! Rotary position embedding. Positions are data: kernels compare them with `table`.

use super::call::{Call, iteration, law};
use super::order::Order;
use super::walk::Walk;
use super::{Reach, Rule, Wrong};
use crate::kernels::rotary::{position, source};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("rotary", rotary)];

/// `rotary`.
fn rotary(call: &Call<'_>) -> Result<Reach, Wrong> {
    let [batch, seq, heads, table] = call.counts(["batch", "seq", "heads", "table"])?;
    let [offset, x_batch, x_seq, x_head] = call.strides(["x_offset", "x_batch", "x_seq", "x_head"])?;
    let [y_batch, y_seq, y_head, pos_batch] = call.strides(["y_batch", "y_seq", "y_head", "pos_batch"])?;
    let (dim, rotated) = (call.spec("dim")?, call.spec("n_rot")?);
    law(rotated % 2 == 0 && rotated <= dim && dim > 0, || {
        format!("{rotated} of {dim} elements are rotated")
    })?;
    call.flag("interleaved")?;
    let half = rotated / 2;
    let groups = iteration(&[batch, seq, heads, dim - half])?.div_ceil(256);
    let x = Walk::new(4, offset).axis(batch, x_batch).axis(seq, x_seq).axis(heads, x_head).axis(dim, 1);
    let y = Walk::words().axis(batch, y_batch).axis(seq, y_seq).axis(heads, y_head).axis(dim, 1);
    let mut reach = Reach::new(groups, 256)
        .operand(0, x.ordered(Order::HeadsAndRows))
        .operand(4, y.ordered(Order::HeadsAndRows));
    let pairs = half as i64;
    let from = call.choice("source", 3)? as u32;
    if from == source::COMPUTED {
        // Two words each.
        call.bound_again(2, 0)?;
        reach = reach.operand(1, Walk::dense(8, half));
    } else {
        let rows = |walk: Walk| match from {
            source::TABLE_BY_POSITION => walk.axis(table, pairs).axis(half, 1),
            _ => walk.axis(batch, (table as i64).saturating_mul(pairs)).axis(seq, pairs).axis(half, 1),
        };
        reach = reach.operand(1, rows(Walk::words())).operand(2, rows(Walk::words()));
    }
    let places = call.choice("position", 2)? as u32;
    let per_row = call.flag("per_row")?;
    if places != position::BASE {
        law(!call.is_wide(3), || "its positions are 64-bit".to_owned())?;
        let walk = Walk::words().axis(batch, pos_batch).axis(seq, i64::from(per_row));
        reach = reach.operand(3, walk);
    } else {
        call.bound_again(3, 0)?;
        reach = reach.told();
    }
    Ok(reach)
}
