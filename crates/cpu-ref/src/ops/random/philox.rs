//! Which words of the generator each element of a result has.

use crate::eval::EvalCx;
use pumice_types::philox::Philox;

/// For every element of a result of that shape the words of its row and its place in the row. The source is the
/// operands from `first` on: where one of them has an axis, a row is an element of the first axis, else all elements
/// are one row.
pub(crate) fn places(cx: &EvalCx<'_>, first: usize, stream: u64, shape: &[u64]) -> Vec<(Philox, u64)> {
    let words: Vec<&[i64]> = (first..first + 3).map(|k| cx.arg(k).as_ints()).collect();
    let by_row = (first..first + 3).any(|k| cx.arg(k).shape.len() == 1);
    let elements: u64 = shape.iter().product();
    let per_row = if by_row { shape[1..].iter().product() } else { elements };
    let place = |e: u64| {
        let r = if by_row { e / per_row } else { 0 };
        let word = |k: usize| words[k][if words[k].len() == 1 { 0 } else { r as usize }] as u32;
        let row = Philox { key: [word(0), word(1)], stream: stream as u32, step: word(2) };
        (row, e - r * per_row)
    };
    (0..elements).map(place).collect()
}
