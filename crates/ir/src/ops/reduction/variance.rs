//! The variance and its root over axes, as compositions of two passes.

use super::composed::Reduced;
use crate::attr::{AttrError, CountRange};
use crate::builder::{Composition, GraphBuilder, Value};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Div, Op, ReduceMean};
use pumice_types::DType;

impl GraphBuilder {
    /// Σ(x − mean)²/(n − correction) over axes (PyTorch `var`): x\[…\] → x without the axes, or with 1 in their place;
    /// empty `axes` are all of them. Correction is 0 (the variance of a population) or 1 (an estimate from a sample).
    /// Floats. NaN over an empty set, where n is the correction, and where an element is NaN or infinite. The mean is
    /// taken first, so that large equal parts do not cancel; 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 2..=64), 5.into()]));
    /// g.output("columns", g.variance(x, &[0], 1, false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn variance(&self, x: Value, axes: &[i64], correction: u64, keepdims: bool) -> Value {
        match self.deviations("variance", x, axes, correction) {
            Ok(Deviations { over, g, op, operands }) => {
                g.finish(op, &operands, over.dtype, &over.gone(keepdims))
            }
            Err(mistake) => mistake,
        }
    }

    /// The root of [`GraphBuilder::variance`] over axes (PyTorch `std`), with the same operands, corrections and edge
    /// cases: x\[…\] → x without the axes, or with 1 in their place; empty `axes` are all of them. The gradient of
    /// equal elements is 0.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([4, 5]));
    /// g.output("rows", g.std_dev(x, &[-1], 0, true));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn std_dev(&self, x: Value, axes: &[i64], correction: u64, keepdims: bool) -> Value {
        match self.deviations("std_dev", x, axes, correction) {
            Ok(Deviations { over, g, op, operands }) => {
                let variance = g.apply(op, &operands);
                g.root_of_squares(variance, over.dtype, &over.gone(keepdims))
            }
            Err(mistake) => mistake,
        }
    }

    /// What the variance in f32 is the quotient or the mean of: the last op and its operands.
    #[track_caller]
    fn deviations(
        &self,
        method: &'static str,
        x: Value,
        axes: &[i64],
        correction: u64,
    ) -> Result<Deviations, Value> {
        let over = self.reduced(method, x, axes, FLOATS)?;
        let allowed = CountRange { min: 0, max: 1, words: "0 or 1" };
        if let Some(reason) = allowed.refusal(correction) {
            return Err(self.wrong_call(method, AttrError::Value { name: "correction", reason }.into()));
        }
        let g = self.composition(method);
        let (wide, axes) = (g.widened(x, over.dtype), over.axes());
        let squares = g.square(g.sub(wide, g.reduce_mean(wide, &axes, true)));
        if correction == 0 {
            let op = ReduceMean { axes, keepdims: true, noop_with_empty_axes: false }.into();
            return Ok(Deviations { over, g, op, operands: vec![squares] });
        }
        // Of no elements the sum is 0, and so is what it is divided by.
        let n = g.count_of(x, &over.shape, &over.axes);
        let divisor = g.clip(g.sub(n, g.constant_scalar(DType::F32, 1.0)), Some(0.0), None);
        let operands = vec![g.apply(over.sum(true), &[squares]), divisor];
        Ok(Deviations { over, g, op: Div {}.into(), operands })
    }
}

/// A variance but for its last node.
struct Deviations {
    over: Reduced,
    g: Composition,
    op: Op,
    operands: Vec<Value>,
}
