//! What reductions that are compositions share: their operand, the axes, the last nodes.

use crate::builder::{GraphBuilder, Value};
use crate::ops::ReduceSum;
use crate::ops::reduce::reduced_axes;
use pumice_types::{DType, DimExpr};

/// The operand of a composed reduction and over what it goes.
pub(super) struct Reduced {
    /// The operand's dtype, which is the result's.
    pub(super) dtype: DType,
    /// The operand's extents.
    pub(super) shape: Vec<DimExpr>,
    /// The reduced axes as sorted indices.
    pub(super) axes: Vec<usize>,
}

impl GraphBuilder {
    /// The operand of a reduction, once its dtype and the axes are found right; else the value that came out of the
    /// mistake.
    #[track_caller]
    pub(super) fn reduced(
        &self,
        method: &'static str,
        x: Value,
        axes: &[i64],
        dtypes: &[DType],
    ) -> Result<Reduced, Value> {
        let types =
            self.checked_operands(method, &["x"], &[x], |cx| cx.expect_dtype(0, dtypes).map(|_| ()))?;
        let (dtype, shape) = (types[0].dtype(), types[0].shape.to_vec());
        match reduced_axes(axes, false, shape.len()) {
            Ok(axes) => Ok(Reduced { dtype, shape, axes }),
            Err(e) => Err(self.wrong_call(method, e)),
        }
    }
}

impl Reduced {
    /// The axes as an attribute. A list of none stands for all of them, of which a scalar has none.
    pub(super) fn axes(&self) -> Vec<i64> {
        self.axes.iter().map(|&a| a as i64).collect()
    }

    /// Their sum, reduced axes staying or not.
    pub(super) fn sum(&self, keepdims: bool) -> ReduceSum {
        ReduceSum { axes: self.axes(), keepdims, noop_with_empty_axes: false }
    }

    /// The axes that the last node takes out, of a value with 1 in their place.
    pub(super) fn gone(&self, keepdims: bool) -> Vec<i64> {
        if keepdims { Vec::new() } else { self.axes() }
    }
}
