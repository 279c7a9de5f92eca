//! Rows appended to a state. Positions are data: kernels compare them with `capacity`.

use super::call::{Call, iteration, law};
use super::walk::Walk;
use super::{Reach, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("kv_append", append)];

/// `kv_append`.
fn append(call: &Call<'_>) -> Result<Reach, Wrong> {
    let [outer, outer0, rows, inner, capacity, pos_div] =
        call.counts(["outer", "outer0", "rows", "inner", "capacity", "pos_div"])?;
    let [x_outer1, x_outer0, x_row] = call.strides(["x_outer1", "x_outer0", "x_row"])?;
    let (source, split) = (call.choice("source", 3)?, call.flag("split")?);
    call.flag("mode")?;
    let unit = call.typed_unit(2).bytes;
    law(outer == 0 || outer0 > 0 && outer % outer0 == 0, || {
        format!("{outer} outer rows in groups of {outer0}")
    })?;
    law(outer == 0 || pos_div > 0 && outer % pos_div == 0, || {
        format!("{outer} outer rows, {pos_div} a position")
    })?;
    law(split || unit == 4 || inner % 2 == 0, || format!("pairs of 16 bits in rows of {inner}"))?;
    law(!split || unit == 2, || "`split` is for states of 16 bits".to_owned())?;
    law(capacity > 0 || outer * inner == 0, || "a state without rows".to_owned())?;
    let state = iteration(&[outer, capacity, inner])?;
    let written = iteration(&[outer, rows, inner])?;
    let words = match (unit, split) {
        (4, _) => written,
        (_, false) => written.div_ceil(2),
        (_, true) => state.div_ceil(2),
    };
    let x = Walk::words().axis(outer.checked_div(outer0).unwrap_or(0), x_outer1).axis(outer0, x_outer0);
    let mut reach = Reach::new(words.div_ceil(256), 256)
        .operand(0, x.axis(rows, x_row).axis(inner, 1))
        .operand(2, Walk::dense(unit, state));
    if source > 0 {
        let wide = call.is_wide(1);
        law(wide == (source == 2), || format!("`source` is {source}, its positions are not"))?;
        let positions = outer.checked_div(pos_div).unwrap_or(0);
        reach = reach.operand(1, Walk::dense(if wide { 8 } else { 4 }, positions));
    } else {
        call.bound_again(1, 0)?;
        reach = reach.told();
    }
    Ok(reach)
}
