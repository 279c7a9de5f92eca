//! What passes ask about kernels, which they do not know: how much of the device a node keeps busy.
//!
//! In: extents at their upper bounds, in elements. Out: numbers of parts. Never here: an answer; the compiler gives it,
//! from what was measured.

/// A matrix product at the upper bounds of its extents, as [`Advice`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductExtents {
    /// Rows of the result; broadcast batches that the right operand does not have count as rows.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Terms of each sum.
    pub k: u64,
    /// Products.
    pub batches: u64,
    /// Whether neighbours of the right operand are neighbours along k (a weight of \[n, k\]).
    pub b_along_k: bool,
    /// Whether the right operand is stored as f32 words.
    pub b_words: bool,
}

/// A reduction at the upper bounds of its extents: \[outer, reduced, inner\] to \[outer, inner\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionExtents {
    /// Results along the axes before the reduced ones.
    pub outer: u64,
    /// Elements that make one result.
    pub reduced: u64,
    /// Results along the axes behind the reduced ones.
    pub inner: u64,
}

/// Who knows the kernels.
pub trait Advice {
    /// Which of these numbers of parts k is best cut into, given that the parts are added where they are read
    /// (`merged`) or by a step of its own. `parts` ascend and begin with 1, which is the answer where cutting does not
    /// pay.
    fn product_parts(&self, product: &ProductExtents, parts: &[u64], merged: bool) -> u64;

    /// Into about how many parts a reduction is best cut; 1 where cutting does not pay.
    fn reduction_parts(&self, reduction: &ReductionExtents) -> u64;
}

/// Cuts nothing.
pub struct NoAdvice;

impl Advice for NoAdvice {
    fn product_parts(&self, _: &ProductExtents, _: &[u64], _: bool) -> u64 {
        1
    }

    fn reduction_parts(&self, _: &ReductionExtents) -> u64 {
        1
    }
}
