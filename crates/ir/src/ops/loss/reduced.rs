//! What losses share: the check of their operands, the reduction of their terms, the weight.

use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Div, Op, ReduceMean, ReduceSum};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// What becomes of the terms of a loss.
    #[derive(Default)]
    pub enum LossReduction {
        /// They stay as they are.
        None = "none",
        /// They are added; 0 where there is none.
        Sum = "sum",
        /// They are added and divided by their number, which is the weight; NaN where there is none.
        #[default]
        Mean = "mean",
        /// As `Mean`, but 0 where there is none, or where the weights that were applied add up to 0; so are its
        /// gradients. The setting for training: a batch without a target moves nothing.
        MeanOrZero = "mean_or_zero",
    }
}

impl LossReduction {
    /// Whether terms are divided by what they weigh.
    pub fn is_mean(self) -> bool {
        matches!(self, LossReduction::Mean | LossReduction::MeanOrZero)
    }
}

impl GraphBuilder {
    /// The type of operands that have one float dtype and one shape; else the value that came out of the mistake.
    #[track_caller]
    pub(super) fn alike(
        &self,
        method: &'static str,
        names: &'static [&'static str],
        operands: &[Value],
    ) -> Result<ValueType, Value> {
        let types = self.checked_operands(method, names, operands, |cx| {
            cx.expect_dtype(0, FLOATS)?;
            (1..cx.len()).try_for_each(|i| {
                cx.same_dtype(0, i)?;
                same_shape(cx, 0, i)
            })
        })?;
        Ok(types[0].clone())
    }
}

/// Errors unless two operands have one shape: terms belong to pairs of elements, and nothing is stretched.
pub(super) fn same_shape(cx: &Infer<'_>, a: usize, b: usize) -> Result<(), OpError> {
    let (x, y) = (cx.ty(a)?, cx.ty(b)?);
    if x.rank() != y.rank() {
        let expected = format!("expected {}, the rank of `{}`", x.rank(), cx.name(a));
        return Err(OpError::Rank { operand: cx.name(b), rank: y.rank(), expected });
    }
    for (axis, (n, m)) in x.shape.iter().zip(y.shape.iter()).enumerate() {
        cx.equal(n, m, &format!("axis {axis} of `{}` and of `{}`", cx.name(a), cx.name(b)))?;
        if n.is(1) != m.is(1) {
            let what = format!("axis {axis} of `{}` and of `{}`", cx.name(a), cx.name(b));
            let show = |d: &DimExpr| cx.show(std::slice::from_ref(d));
            return Err(OpError::ExtentMismatch { what, a: show(n), b: show(m) });
        }
    }
    Ok(())
}

impl Composition {
    /// The end of a loss whose terms this op makes in f32 of these operands: value and weight. `counted` is a value
    /// whose axes, as many as terms have, have the extents of the terms; `dtype` is that of the loss.
    #[track_caller]
    pub(super) fn loss(
        self,
        reduction: LossReduction,
        terms: (Op, &[Value]),
        (counted, extents): (Value, &[DimExpr]),
        dtype: DType,
    ) -> (Value, Value) {
        let axes: Vec<usize> = (0..extents.len()).collect();
        let weight = match reduction.is_mean() {
            true => self.count_of(counted, extents, &axes),
            false => self.constant_scalar(DType::F32, 1.0),
        };
        let (op, operands) = terms;
        let (axes, keepdims, noop_with_empty_axes) = (Vec::new(), false, false);
        let whole: Op = match reduction {
            LossReduction::None => return (self.finish(op, operands, dtype, &[]), weight),
            LossReduction::Sum => ReduceSum { axes, keepdims, noop_with_empty_axes }.into(),
            LossReduction::MeanOrZero if !has_terms(extents) => {
                let sum = self.reduce_sum(self.apply(op, operands), &[], false);
                return (self.quotient_or_zero(sum, weight, dtype), weight);
            }
            _ => ReduceMean { axes, keepdims, noop_with_empty_axes }.into(),
        };
        let terms = self.apply(op, operands);
        (self.finish(whole, &[terms], dtype, &[]), weight)
    }

    /// As [`Composition::loss`], where a mean divides by the sum of the weights that were applied to the terms.
    #[track_caller]
    pub(super) fn weighted_loss(
        self,
        reduction: LossReduction,
        (op, operands): (Op, &[Value]),
        applied: Value,
        dtype: DType,
    ) -> (Value, Value) {
        if !reduction.is_mean() {
            return self.loss(reduction, (op, operands), (applied, &[]), dtype);
        }
        let terms = self.apply(op, operands);
        let (sum, weight) = (self.reduce_sum(terms, &[], false), self.reduce_sum(applied, &[], false));
        if reduction == LossReduction::MeanOrZero {
            return (self.quotient_or_zero(sum, weight, dtype), weight);
        }
        (self.finish(Div {}, &[sum, weight], dtype, &[]), weight)
    }

    /// sum / weight, and 0 where the weight is 0. The sum is chosen before it is divided, so that its gradient is 0
    /// there and no 0·∞.
    #[track_caller]
    fn quotient_or_zero(self, sum: Value, weight: Value, dtype: DType) -> Value {
        let [zero, one] = [0.0, 1.0].map(|v| self.constant_scalar(DType::F32, v));
        let empty = self.equal(weight, zero);
        let (sum, divisor) = (self.select(empty, zero, sum), self.select(empty, one, weight));
        self.finish(Div {}, &[sum, divisor], dtype, &[])
    }
}

/// Whether there are terms, whatever symbols are.
fn has_terms(extents: &[DimExpr]) -> bool {
    extents.iter().all(|extent| extent.as_const().is_some_and(|n| n > 0))
}
