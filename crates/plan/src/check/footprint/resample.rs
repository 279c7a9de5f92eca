//! Resampling of one axis or two. Indices are data: kernels clamp them to their axis.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::resample::LINES;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("resample_floats", floats), ("resample_words", words)];

/// x as [outer, first axis, mid, last axis, inner], and what the axes become.
pub(super) struct TwoAxes {
    /// Elements before the first axis.
    outer: u64,
    first: [u64; 2],
    mid: u64,
    /// The extent of the last axis before and after.
    pub last: [u64; 2],
    /// Words after the last axis.
    inner: u64,
    /// Elements after it.
    after: u64,
}

impl TwoAxes {
    /// Of a call whose operand 0 is x.
    pub fn of(call: &Call<'_>) -> Result<TwoAxes, Wrong> {
        let [outer, mid, inner] = call.fixed_counts(["outer", "mid", "inner"])?;
        let first = [call.fixed_count_at("axis", 0)?, call.fixed_count_at("made", 0)?];
        let last = [call.fixed_count_at("axis", 1)?, call.fixed_count_at("made", 1)?];
        // Elements of 64 bits are two words of the kernel each.
        let words = if call.is_wide(0) { 2 } else { 1 };
        law(inner % words == 0, || format!("{inner} words in rows of 64-bit elements"))?;
        Ok(TwoAxes { outer, first, mid, last, inner, after: inner / words })
    }

    /// The extents of the first axis before and after.
    pub fn first(&self) -> [u64; 2] {
        self.first
    }

    fn accesses<'i>(&self, i: usize) -> Result<Accesses<'i>, Wrong> {
        let lines = iteration(&[self.outer, self.first[i], self.mid])?;
        let all = iteration(&[lines, self.last[i], self.inner])?;
        Ok(Accesses::dense(4, all).within(lines, &[self.last[i]], self.after))
    }

    /// Of threads that make a column of so many lines each; y is this operand.
    pub fn footprint<'i>(&self, y: usize, lines: u64) -> Result<Footprint<'i>, Wrong> {
        let rows = iteration(&[self.outer, self.first[1], self.mid])?.div_ceil(lines);
        let groups = iteration(&[rows, self.last[1], self.inner])?.div_ceil(256);
        let rest = iteration(&[self.mid, self.last[0], self.after])?;
        let axis = (self.first != [1, 1]).then_some([self.outer, self.first[0], rest]);
        let footprint =
            Footprint::new(groups, 256).operand(0, self.accesses(0)?).operand(y, self.accesses(1)?);
        Ok(Footprint { axis: axis.map(|axis| axis.map(Into::into)), ..footprint })
    }
}

/// With the tables at operand 1 and, of two axes, 2, of so many indices for each place.
fn tables<'i>(call: &Call<'i>, taps: u64, y: usize) -> Result<(TwoAxes, bool, Footprint<'i>), Wrong> {
    let of = TwoAxes::of(call)?;
    let axes = call.spec("axes")?;
    law((1..=2).contains(&axes), || format!("{axes} axes"))?;
    let two = axes == 2;
    law(two || of.first() == [1, 1] && of.outer == 1, || "a first axis that is not there".to_owned())?;
    call.own_or_again(two, 2, 1)?;
    let mut footprint = of.footprint(y, LINES)?.operand(1, table(of.last[1], taps)?);
    if two {
        footprint = footprint.operand(2, table(of.first()[1], taps)?);
    }
    Ok((of, two, footprint))
}

fn table<'i>(places: u64, taps: u64) -> Result<Accesses<'i>, Wrong> {
    Ok(Accesses::dense(4, iteration(&[places, taps])?))
}

/// `resample_words`.
fn words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    Ok(tables(call, 1, 3)?.2)
}

/// `resample_floats`.
fn floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let taps = call.spec("taps")?;
    law((1..=4).contains(&taps), || format!("{taps} taps"))?;
    let (of, two, footprint) = tables(call, taps, 5)?;
    call.own_or_again(two, 4, 3)?;
    let footprint = footprint.operand(3, table(of.last[1], taps)?);
    Ok(if two { footprint.operand(4, table(of.first()[1], taps)?) } else { footprint })
}
