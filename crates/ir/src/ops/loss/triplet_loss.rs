//! The loss of triplets: an anchor, a row that is to be near, a row that is to be far.

use super::reduced::LossReduction;
use crate::attr::FloatRange;
use crate::builder::{Composition, GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::ops::Relu;
use pumice_types::DType;

/// Attributes of [`GraphBuilder::triplet_loss`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TripletLoss {
    /// What becomes of the terms, one for each triplet.
    pub reduction: LossReduction,
    /// By how much the far row is to be farther away: finite and not negative.
    pub margin: f32,
    /// Which norm is the distance: 2 of Euclid, 1 of Manhattan, any finite number from 1 on.
    pub p: f32,
}

impl Default for TripletLoss {
    fn default() -> TripletLoss {
        TripletLoss { reduction: LossReduction::Mean, margin: 1.0, p: 2.0 }
    }
}

/// Norms are those whose triangles are no detours.
const NORMS: FloatRange = FloatRange { min: 1.0, words: "finite and at least 1", ..FloatRange::FINITE };

impl GraphBuilder {
    /// max(0, d(anchor, near) − d(anchor, far) + margin), d(x, y) = (Σ|x − y|ᵖ)^(1/p) along the last axis, and its
    /// reduction (PyTorch `triplet_margin_loss`, without the small number that it adds to differences): three tensors
    /// \[…, D\] of one float dtype and one shape → the loss in that dtype, \[…\] where terms stay, else of rank 0, and
    /// its weight, an f32 of rank 0: the number of triplets of a mean, else 1. Where a distance is 0 so is its
    /// gradient, and a term that is 0 passes none. NaN propagates; a mean over no triplets is NaN. 16-bit floats are
    /// computed in f32 and rounded once. A margin that is negative or not finite, and a p below 1 or not finite, are
    /// mistakes.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::triplet_loss::TripletLoss;
    /// let g = GraphBuilder::new("g");
    /// let [anchor, near, far] = ["anchor", "near", "far"].map(|name| g.input(name, f32([8, 64])));
    /// let (loss, _) = g.triplet_loss(anchor, near, far, TripletLoss { margin: 0.5, ..TripletLoss::default() });
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn triplet_loss(&self, anchor: Value, near: Value, far: Value, op: TripletLoss) -> (Value, Value) {
        const METHOD: &str = "triplet_loss";
        let ty = match self.alike(METHOD, &["anchor", "near", "far"], &[anchor, near, far]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        if let Err(e) = allowed(&op, ty.rank()) {
            let mistake = self.wrong_call(METHOD, e);
            return (mistake, mistake);
        }
        let g = self.composition(METHOD);
        let [x, near, far] = [anchor, near, far].map(|rows| g.widened(rows, ty.dtype()));
        let [near, far] = [near, far].map(|y| g.distance(g.sub(x, y), op.p));
        let margin = g.constant_scalar(DType::F32, f64::from(op.margin));
        let excess = g.add(g.sub(near, far), margin);
        let rows = &ty.shape[..ty.rank() - 1];
        g.loss(op.reduction, (Relu {}.into(), &[excess]), (anchor, rows), ty.dtype())
    }
}

fn allowed(op: &TripletLoss, rank: usize) -> Result<(), OpError> {
    if rank == 0 {
        let expected = "expected at least 1: rows".to_owned();
        return Err(OpError::Rank { operand: "anchor", rank, expected });
    }
    in_range("margin", op.margin, FloatRange::NOT_NEGATIVE)?;
    in_range("p", op.p, NORMS)
}

impl Composition {
    /// The norm of differences along the last axis. No root is taken of 0, where its slope is infinite.
    #[track_caller]
    fn distance(&self, d: Value, p: f32) -> Value {
        if p == 1.0 {
            return self.reduce_l1(d, &[-1], false);
        }
        if p == 2.0 {
            return self.reduce_l2(d, &[-1], false);
        }
        let number = |v: f64| self.constant_scalar(DType::F32, v);
        let sum = self.reduce_sum(self.pow(self.abs(d), number(f64::from(p))), &[-1], false);
        let none = self.equal(sum, number(0.0));
        let root = self.pow(self.select(none, number(1.0), sum), number(1.0 / f64::from(p)));
        self.select(none, number(0.0), root)
    }
}
