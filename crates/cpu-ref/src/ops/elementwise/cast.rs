//! `Cast`, and the conversions it is made of.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Cast;
use pumice_types::DType;

impl Eval for Cast {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![convert(cx.arg(0), self.to)]
    }
    exact!();

    fn gradient(&self, _by: usize, _x: &[Option<f64>], dy: f64) -> Option<f64> {
        Some(dy)
    }
}

/// The values in another dtype.
pub fn convert(x: &Array, to: DType) -> Array {
    match &x.data {
        Data::Float(v) if to.is_float() => Array::floats(to, &x.shape, v.clone()),
        Data::Float(v) => Array::ints(to, &x.shape, v.iter().map(|&v| float_to_int(v, to)).collect()),
        Data::Int(v) if to.is_float() => {
            Array::floats(to, &x.shape, v.iter().map(|&v| f64::from(int_to_f32(v, x.dtype))).collect())
        }
        Data::Int(v) => Array::ints(to, &x.shape, v.clone()),
    }
}

/// Rounded once to f32, the type that arithmetic is in; a 16-bit float is rounded from there.
fn int_to_f32(v: i64, from: DType) -> f32 {
    if from == DType::U64 { v as u64 as f32 } else { v as f32 }
}

/// Toward zero, saturated; NaN is 0. To Bool: whether it is not 0 (NaN is true).
pub fn float_to_int(v: f64, to: DType) -> i64 {
    match to {
        DType::Bool => i64::from(v != 0.0),
        DType::U64 => v as u64 as i64,
        DType::U8 | DType::U16 | DType::U32 => (v as i64).clamp(0, (1 << to.bits()) - 1),
        DType::I8 | DType::I16 | DType::I32 => {
            (v as i64).clamp(-(1 << (to.bits() - 1)), (1 << (to.bits() - 1)) - 1)
        }
        _ => v as i64,
    }
}
