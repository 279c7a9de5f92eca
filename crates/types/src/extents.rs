//! Sizes of matrix products and reductions at the upper bounds of their symbols: what passes ask about and kernels
//! choose by.

use crate::precision::Precision;
use crate::table::EncodingClass;

/// A matrix product \[m, k\] x \[k, n\], once for every batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductExtents {
    /// Rows of the result; broadcast batches that the right operand does not have count as rows.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Terms of each sum.
    pub k: u64,
    /// Matrices.
    pub batches: u64,
    /// Whether neighbours of the right operand are neighbours along k (a weight of \[n, k\]).
    pub b_along_k: bool,
    /// How the right operand is stored.
    pub b_stored: EncodingClass,
    /// In what its factors are multiplied: exactly, or rounded first.
    pub precision: Precision,
}

/// Attention of \[batches, heads, queries, d\] over \[batches, key_heads, keys, d\] and values of width dv.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionExtents {
    /// Batch entries.
    pub batches: u64,
    /// Query heads.
    pub heads: u64,
    /// Key heads, which divide them.
    pub key_heads: u64,
    /// Queries of a head.
    pub queries: u64,
    /// Keys of a head.
    pub keys: u64,
    /// Width of queries and keys.
    pub d: u64,
    /// Width of the values.
    pub dv: u64,
}

/// A reduction of \[outer, reduced, inner\] to \[outer, inner\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionExtents {
    /// Results along the axes before the reduced ones.
    pub outer: u64,
    /// Elements that make one result.
    pub reduced: u64,
    /// Results along the axes after the reduced ones.
    pub inner: u64,
    /// Whether elements are read one by one: integers, and reduced axes with others between them.
    pub one_by_one: bool,
}

/// What is computed over a whole row, of which each result needs the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Softmax and log-softmax.
    Softmax,
    /// Layer norm.
    LayerNorm,
    /// RMS norm.
    RmsNorm,
    /// The gradient of either by what it normalizes.
    NormGrad,
}

/// Rows along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowExtents {
    /// What is computed.
    pub kind: RowKind,
    /// Rows: elements of all axes before it.
    pub rows: u64,
    /// Elements of a row.
    pub n: u64,
    /// Rows side by side: elements after the axis. 1 where neighbours are neighbours in memory.
    pub inner: u64,
}
