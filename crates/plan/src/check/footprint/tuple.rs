//! Tuples of indices into several axes: the arguments `parts` and `dims` and the constant `wide` of kernels that have
//! them. Indices are data: kernels compare each with its axis.

use super::Wrong;
use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use pumice_types::MAX_RANK;

/// What a tuple indexes.
pub(super) struct Tuple {
    /// Indices of a tuple.
    pub parts: u64,
    /// Places that tuples mean: elements of the axes.
    pub places: u64,
    /// Extents of the axes.
    dims: Vec<u64>,
    /// Whether indices have 64 bits.
    wide: bool,
}

impl Tuple {
    /// Of a call whose indices are that operand. Extents after those of the axes are not read, and 0.
    pub fn of(call: &Call<'_>, indices: usize) -> Result<Tuple, Wrong> {
        let [parts] = call.counts(["parts"])?;
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
    pub fn table(&self, unit: u64, outer: u64, inner: u64) -> Result<Accesses, Wrong> {
        let elements = iteration(&[outer, self.places, inner])?;
        Ok(Accesses::dense(unit, elements).within(outer, &self.dims, inner))
    }

    /// The indices of so many tuples.
    pub fn indices(&self, tuples: u64) -> Result<Accesses, Wrong> {
        Ok(Accesses::dense(if self.wide { 8 } else { 4 }, iteration(&[tuples, self.parts])?))
    }
}
