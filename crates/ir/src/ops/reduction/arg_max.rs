//! `ArgMax`: where the largest element is.

use super::arg::arg_extremum;

arg_extremum! {
    /// The index of the first (or last) largest element along an axis (ONNX ArgMax); the first NaN wins. An empty axis
    /// is an error.
    ArgMax arg_max arg_max_i32,
    /// The index of the first largest element along an axis: x\[…\] → i64, without the axis or with 1 in its place.
}
