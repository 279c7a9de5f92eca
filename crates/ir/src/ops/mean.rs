//! `Mean`: the mean of any number of tensors.

use super::elementwise::variadic;
use crate::sample::Fill;

variadic! {
    /// y = (a + b + …)/n with NumPy broadcasting (ONNX Mean): n ≥ 1 float tensors of one dtype → that dtype. Defined as
    /// Sum and a division.
    Mean mean, FLOATS, composite true, |_b, _xs| None, Fill::Special
}
