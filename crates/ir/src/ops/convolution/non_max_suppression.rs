//! Boxes that overlap no better one, as a composition: as many as the run finds.

use super::non_max_suppression_parts::rows;
use crate::builder::{GraphBuilder, Value};
use crate::infer::Infer;
use pumice_types::DimExpr;

/// Which boxes are kept ([`GraphBuilder::non_max_suppression`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonMaxSuppression {
    /// Boxes of a batch and a class at most.
    pub max_out: u64,
    /// The share of two boxes' area that they have in common above which the worse one is left out: 0 to 1.
    pub iou_threshold: f32,
    /// What a score must be above.
    pub score_threshold: Option<f32>,
    /// Whether boxes are x and y of the centre, width, height; else y, x of a corner and of the opposite one.
    pub center_point_box: bool,
}

impl Default for NonMaxSuppression {
    /// All boxes, given by corners, that have at most half their area in common.
    fn default() -> NonMaxSuppression {
        let (max_out, iou_threshold) = (u64::MAX, 0.5);
        NonMaxSuppression { max_out, iou_threshold, score_threshold: None, center_point_box: false }
    }
}

impl GraphBuilder {
    /// The boxes of each class that overlap none with a better score (ONNX NonMaxSuppression): boxes\[b, n, 4\],
    /// scores\[b, c, n\] → i64\[k, 3\], whose rows are batch, class, box: classes of a batch one after the other, the
    /// best boxes first. k is found while the program runs, at most b·c·min(max_out, n)
    /// ([`extent_of`](GraphBuilder::extent_of)).
    ///
    /// Boxes are taken by descending score, of equal scores the lower place first. One whose score is NaN or not above
    /// `score_threshold` is left out, and one whose area in common with a box that was kept is more than
    /// `iou_threshold` of the area of both together. Corners may be any two opposite ones. Boxes without area, and such
    /// with NaN, suppress none. The host computes it.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
    /// let g = GraphBuilder::new("g");
    /// let (boxes, scores) = (g.input("boxes", f32([1, 200, 4])), g.input("scores", f32([1, 80, 200])));
    /// let op = NonMaxSuppression { max_out: 20, score_threshold: Some(0.25), ..NonMaxSuppression::default() };
    /// g.output("kept", g.non_max_suppression(boxes, scores, op));
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn non_max_suppression(&self, boxes: Value, scores: Value, op: NonMaxSuppression) -> Value {
        let (names, operands) = (&["boxes", "scores"], [boxes, scores]);
        let rule = |cx: &Infer<'_>| rows(cx, op.max_out).map(drop);
        let types = match self.checked_operands("non_max_suppression", names, &operands, rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let (largest, op) = self.most_kept(&types[1].shape, op);
        let g = self.composition("non_max_suppression");
        let [kept, count] = g.non_max_suppression_parts(boxes, scores, op, largest);
        let n = g.extent_of(count, 0..=largest);
        g.last().narrow(kept, 0, 0u64, n)
    }

    /// Rows at most of scores of that shape, and the op that asks for no more of each than there are.
    #[track_caller]
    fn most_kept(&self, scores: &[DimExpr], op: NonMaxSuppression) -> (u64, NonMaxSuppression) {
        let symbols = self.symbols().unwrap_or_default();
        let most = |axis: usize| scores[axis].upper(&symbols);
        let max_out = op.max_out.min(most(2));
        let largest = most(0).saturating_mul(most(1)).saturating_mul(max_out);
        (largest, NonMaxSuppression { max_out, ..op })
    }
}
