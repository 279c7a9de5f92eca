//! Tensors of one element as constants of an expression.

use super::builder::{Reg, ScalarBuilder};
use crate::{DType, Tensor};

impl ScalarBuilder {
    /// The first element of a tensor, in the compute register of its dtype; `None` of an empty one.
    pub fn literal(&self, data: &Tensor) -> Option<Reg> {
        let bytes = data.bytes();
        Some(match data.dtype() {
            DType::F32 => self.f32(*data.to_vec::<f32>().ok()?.first()?),
            DType::F16 => self.f32(data.to_vec::<half::f16>().ok()?.first()?.to_f32()),
            DType::BF16 => self.f32(data.to_vec::<half::bf16>().ok()?.first()?.to_f32()),
            DType::I8 => self.i32(i32::from(*data.to_vec::<i8>().ok()?.first()?)),
            DType::I16 => self.i32(i32::from(*data.to_vec::<i16>().ok()?.first()?)),
            DType::I32 => self.i32(*data.to_vec::<i32>().ok()?.first()?),
            DType::U8 => self.u32(u32::from(*bytes.first()?)),
            DType::U16 => self.u32(u32::from(*data.to_vec::<u16>().ok()?.first()?)),
            DType::U32 => self.u32(*data.to_vec::<u32>().ok()?.first()?),
            DType::I64 => self.i64(*data.to_vec::<i64>().ok()?.first()?),
            DType::U64 => self.u64(*data.to_vec::<u64>().ok()?.first()?),
            DType::Bool => self.bool(*bytes.first()? != 0),
        })
    }
}
