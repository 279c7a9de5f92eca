//! The loss of the cosine between rows, and unit rows, which losses of similarity share.

use super::reduced::{LossReduction, same_shape};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{LpNormalization, Op, Square, Sub};
use pumice_types::DType;

/// Attributes of [`GraphBuilder::cosine_loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CosineLoss {
    /// What becomes of the terms, one for each row.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// 1 − cos(a, b) for each pair of rows, or (cos(a, b) − y)² where their similarity y is given, and its reduction:
    /// a and b \[…, D\] of one float dtype and one shape, y \[…\] or none → the loss in that dtype, \[…\] where terms
    /// stay, else of rank 0, and its weight, an f32 of rank 0: the number of rows of a mean, else 1. Rows are brought
    /// to length 1 as by [`GraphBuilder::lp_normalization`], so that a row of zeros has the cosine 0 and the gradient
    /// 0. NaN propagates; a mean over no rows is NaN. 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::cosine_loss::CosineLoss;
    /// let g = GraphBuilder::new("g");
    /// let b = || sym("b", 1..=8);
    /// let rows = |name: &str| g.input(name, f32([b(), 384.into()]));
    /// let similarity = g.input("similarity", f32([b()]));
    /// let (loss, weight) = g.cosine_loss(rows("a"), rows("b"), Some(similarity), CosineLoss::default());
    /// g.output("loss", loss);
    /// g.output("rows", weight);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn cosine_loss(&self, a: Value, b: Value, y: Option<Value>, op: CosineLoss) -> (Value, Value) {
        const METHOD: &str = "cosine_loss";
        let operands = [Some(a), Some(b), y];
        let ty = match self.checked_optional(METHOD, &["a", "b", "y"], &operands, fit) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let [a_unit, b_unit] = [a, b].map(|rows| g.unit_rows(g.widened(rows, ty.dtype())));
        let cos = g.reduce_sum(g.mul(a_unit, b_unit), &[-1], false);
        let (term, operands): (Op, Vec<Value>) = match y {
            None => (Sub {}.into(), vec![g.constant_scalar(DType::F32, 1.0), cos]),
            Some(y) => (Square {}.into(), vec![g.sub(cos, g.widened(y, ty.dtype()))]),
        };
        let rows = &ty.shape[..ty.rank() - 1];
        g.loss(op.reduction, (term, &operands), (a, rows), ty.dtype())
    }

    /// Rows along the last axis at length 1; those of zeros stay zeros.
    #[track_caller]
    pub(super) fn unit_rows(&self, x: Value) -> Value {
        self.lp_normalization(x, LpNormalization::default())
    }
}

/// Rows, alike, and a number for each.
fn fit(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    same_shape(cx, 0, 1)?;
    let rows = cx.ty(0)?;
    let Some((_, cases)) = rows.shape.split_last() else {
        let expected = "expected at least 1: rows".to_owned();
        return Err(OpError::Rank { operand: cx.name(0), rank: 0, expected });
    };
    let Some(y) = cx.opt(2) else { return Ok(()) };
    cx.same_dtype(0, 2)?;
    cx.expect_rank(2, cases.len())?;
    let axes = cases.iter().zip(y.shape.iter()).enumerate();
    axes.into_iter().try_for_each(|(axis, (n, m))| cx.equal(n, m, &format!("axis {axis} of `a` and of `y`")))
}
