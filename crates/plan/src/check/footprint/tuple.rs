//! Tuples of indices into several axes: the arguments `parts` and `dims` and the constant `wide` of kernels that have
//! them. Indices are data: kernels compare each with its axis.

use super::Wrong;
use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use crate::check::numbers::Number;
use pumice_types::MAX_RANK;

/// What a tuple indexes.
pub(super) struct Tuple<'i> {
    /// Indices of a tuple.
    pub parts: u64,
    /// Places that tuples mean: elements of the axes.
    pub places: Number<'i>,
    /// Extents of the axes.
    dims: Vec<Number<'i>>,
    /// Whether indices have 64 bits.
    wide: bool,
}

impl<'i> Tuple<'i> {
    /// Of a call whose indices are that operand. Extents after those of the axes are not read, and 0.
    pub fn of(call: &Call<'i>, indices: usize) -> Result<Tuple<'i>, Wrong> {
        let [parts] = call.fixed_counts(["parts"])?;
        law((1..=MAX_RANK as u64).contains(&parts), || format!("tuples of {parts} indices"))?;
        let wide = call.flag("wide")?;
        law(wide == call.is_wide(indices), || format!("`wide` is {wide}, its indices are not"))?;
        let mut dims = Vec::new();
        for i in 0..MAX_RANK {
            let extent = call.count_at("dims", i)?;
            law((i as u64) < parts || extent == 0, || {
                format!("tuples of {parts} indices and an extent of axis {i}")
            })?;
            dims.push(extent);
        }
        dims.truncate(parts as usize);
        Ok(Tuple { parts, places: iteration(&dims)?, dims, wide })
    }

    /// Elements in \[outer, the axes, inner\].
    pub fn table(
        &self,
        unit: u64,
        outer: impl Into<Number<'i>>,
        inner: Number<'i>,
    ) -> Result<Accesses<'i>, Wrong> {
        let outer = outer.into();
        let elements = iteration(&[outer, self.places, inner])?;
        Ok(Accesses::dense(unit, elements).within(outer, &self.dims, inner))
    }

    /// The indices of so many tuples.
    pub fn indices(&self, tuples: Number<'i>) -> Result<Accesses<'i>, Wrong> {
        Ok(Accesses::dense(if self.wide { 8 } else { 4 }, iteration(&[tuples, self.parts.into()])?))
    }
}
