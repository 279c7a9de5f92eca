//! `Sum`: the sum of any number of tensors.

use super::elementwise::variadic;
use crate::sample::Fill;

variadic! {
    /// y = a + b + …, folded from the left, with NumPy broadcasting (ONNX Sum): one or more tensors of one dtype → that
    /// dtype. Defined as a chain of Add.
    Sum sum, NUMERIC, composite true, |_b, _xs| None, Fill::Special
}
