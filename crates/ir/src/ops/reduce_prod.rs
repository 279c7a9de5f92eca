//! `ReduceProd`: the product over axes.

use super::elementwise::NUMERIC;
use super::reduce::reduction;
use crate::sample::Fill;

reduction! {
    /// Πx over axes (ONNX ReduceProd); 1 over an empty set.
    ReduceProd reduce_prod, NUMERIC, Fill::Uniform(-1.1, 1.1)
}
