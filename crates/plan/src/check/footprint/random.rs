//! Random numbers: a block of four for each thread.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::random::BLOCK;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("random_numbers", numbers)];

/// `random_numbers`.
fn numbers<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n] = call.fixed_counts(["rows", "n"])?;
    if call.flag("vec")? {
        by_four("`vec`", &[n as i64])?;
    }
    call.choice("distribution", 3)?;
    let by_row = call.choice("by_row", 8)?;
    law(by_row != 0 || rows <= 1, || format!("{rows} rows, of one source"))?;
    let groups = iteration(&[rows, n.div_ceil(BLOCK)])?.div_ceil(256);
    let footprint = Footprint::new(groups, 256).operand(3, Accesses::dense(4, iteration(&[rows, n])?));
    let words = |operand: usize| if by_row >> operand & 1 == 1 { rows } else { rows.min(1) };
    Ok((0..3).fold(footprint, |f, operand| f.operand(operand, Accesses::dense(4, words(operand)))))
}
