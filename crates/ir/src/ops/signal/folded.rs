//! Tables that are known while a graph is built: computed in f64, rounded once, a constant of the graph.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::ops::elementwise::FLOATS;
use half::{bf16, f16};
use pumice_types::{DType, Tensor};

/// The most elements of a table, and the most along an axis of one that has none.
const MOST: u64 = 1 << 24;

impl GraphBuilder {
    /// A constant of this shape and float dtype, of which `at` gives the elements in row-major order.
    #[track_caller]
    pub(super) fn folded(
        &self,
        method: &'static str,
        dtype: DType,
        shape: &[u64],
        values: impl FnOnce() -> Vec<f64>,
    ) -> Value {
        if let Err(e) = expect_table(dtype, shape) {
            return self.wrong_call(method, e);
        }
        match rounded(dtype, shape, &values()) {
            Ok(table) => self.composition(method).last().constant(table),
            Err(e) => self.wrong_call(method, OpError::Invalid(e.to_string())),
        }
    }
}

fn expect_table(dtype: DType, shape: &[u64]) -> Result<(), OpError> {
    if !FLOATS.contains(&dtype) {
        let reason = "the elements are floats: f32, f16 or bf16".into();
        return Err(AttrError::Value { name: "dtype", reason }.into());
    }
    let elements = shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n));
    if elements.is_none_or(|n| n > MOST) || shape.iter().any(|&n| n > MOST) {
        return Err(OpError::Invalid(format!("a table of {shape:?} has more than 2^24 elements or rows")));
    }
    Ok(())
}

fn rounded(dtype: DType, shape: &[u64], values: &[f64]) -> Result<Tensor, pumice_types::TensorError> {
    match dtype {
        DType::F16 => Tensor::new(&values.iter().map(|&v| f16::from_f64(v)).collect::<Vec<_>>(), shape),
        DType::BF16 => Tensor::new(&values.iter().map(|&v| bf16::from_f64(v)).collect::<Vec<_>>(), shape),
        _ => Tensor::new(&values.iter().map(|&v| v as f32).collect::<Vec<_>>(), shape),
    }
}
