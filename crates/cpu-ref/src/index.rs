//! Walking over elements: strides, and the linear offsets that a shape with strides visits.
//!
//! In: extents of arrays. Out: offsets as `usize`. Every movement op and every broadcast is one call of
//! [`offsets`]. Never here: element types or values.

use crate::array::Array;
use pumice_types::tensor::element_count;
use std::borrow::Cow;

/// Number of elements of a shape that exists in memory.
pub fn count(shape: &[u64]) -> usize {
    element_count(shape).unwrap_or(0) as usize
}

/// Row-major strides, in elements.
pub fn strides(shape: &[u64]) -> Vec<i64> {
    let mut step = 1i64;
    let mut out = vec![0; shape.len()];
    for (s, &d) in out.iter_mut().zip(shape).rev() {
        *s = step;
        step = step.saturating_mul(d as i64);
    }
    out
}

/// Strides with which an array of shape `from` is read as one of shape `to`: right-aligned, 0 where it stretches.
pub fn broadcast_strides(from: &[u64], to: &[u64]) -> Vec<i64> {
    let own = strides(from);
    let missing = to.len().saturating_sub(from.len());
    (0..to.len())
        .map(|i| match i.checked_sub(missing) {
            Some(j) if from[j] == to[i] => own[j],
            _ => 0,
        })
        .collect()
}

/// The offsets `start + Σ iₐ·strideₐ` over all index tuples of `shape` in row-major order.
pub fn offsets(shape: &[u64], strides: &[i64], start: i64) -> Vec<usize> {
    let n = count(shape);
    let mut out = Vec::with_capacity(n);
    let mut index = vec![0u64; shape.len()];
    let mut at = start;
    for _ in 0..n {
        out.push(at as usize);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis] as i64;
            index[axis] = 0;
        }
    }
    out
}

/// The array stretched to a shape it broadcasts to.
pub fn expand<'a>(a: &'a Array, shape: &[u64]) -> Cow<'a, Array> {
    if a.shape == shape {
        return Cow::Borrowed(a);
    }
    let from = offsets(shape, &broadcast_strides(&a.shape, shape), 0);
    Cow::Owned(a.gathered(shape, |i| from[i]))
}

/// Extents before, at and after an axis, as products: `[outer, n, inner]`.
pub fn around(shape: &[u64], axis: usize) -> (usize, usize, usize) {
    (count(&shape[..axis]), shape[axis] as usize, count(&shape[axis + 1..]))
}

/// An axis of a verified op as an index.
pub fn axis_of(axis: i64, rank: usize) -> usize {
    axis.rem_euclid(rank.max(1) as i64) as usize
}
