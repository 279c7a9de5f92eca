//! Counts that become extents: one group, one element.

use super::accesses::Accesses;
use super::call::{Call, law};
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("found_count", found_count)];

fn found_count<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [largest] = call.counts(["largest"])?;
    law(largest <= i32::MAX as u64, || format!("a largest count of {largest}"))?;
    let wide = call.flag("wide")?;
    law(wide == call.is_wide(0), || format!("`wide` is {wide}, its count is not"))?;
    let count = Accesses::dense(if wide { 8 } else { 4 }, 1);
    Ok(Footprint::new(1, 1).operand(0, count).operand(1, Accesses::dense(4, 1)))
}
