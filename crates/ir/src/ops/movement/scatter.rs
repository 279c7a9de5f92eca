//! What the scatters share: how an update meets what is there, and which dtypes that takes.

use crate::error::OpError;
use crate::infer::Infer;
use pumice_types::DType;

crate::attr_enum! {
    /// What becomes of an element and the updates that go to it.
    pub enum ScatterReduction {
        /// The last update in row-major order takes its place.
        Set = "none",
        /// Their sum.
        Add = "add",
        /// Their product.
        Mul = "mul",
        /// Their maximum; NaN if one of them is.
        Max = "max",
        /// Their minimum; NaN if one of them is.
        Min = "min",
    }
}

impl ScatterReduction {
    /// The dtype of these operands, data and updates, which is one; Bool is only replaced.
    pub(super) fn expect_dtype(self, cx: &Infer<'_>, [data, updates]: [usize; 2]) -> Result<DType, OpError> {
        let dtype = cx.same_dtype(data, updates)?;
        if dtype == DType::Bool && self != ScatterReduction::Set {
            let expected = "expected numbers: bool is only replaced (reduction none)".to_owned();
            return Err(OpError::DType { operand: "data", dtype, expected });
        }
        Ok(dtype)
    }
}
