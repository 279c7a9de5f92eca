//! `NonMaxSuppressionParts`: boxes that are kept at their largest number, and how many there are.
//! `non_max_suppression` is made of it.

use super::non_max_suppression::NonMaxSuppression;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// Boxes that are kept of each class, the best ones and of those that overlap the better (ONNX NonMaxSuppression
    /// before its result has its extent): boxes\[b, n, 4\], scores\[b, c, n\] → i64\[largest, 3\], whose rows are
    /// batch, class, box, and i32\[\], how many there are. Rows after the last are 0.
    ///
    /// Of a batch and a class boxes are taken by descending score, of equal scores the lower place first, until there
    /// are `max_out`. One is left out whose score is NaN or not above `score_threshold`, or whose area in common with
    /// one that was kept, divided by the area of both together and rounded to f32, is above `iou_threshold`. Boxes
    /// without area, and such with NaN, suppress none and are suppressed by none.
    pub struct NonMaxSuppressionParts {
        /// Boxes of a batch and a class at most.
        max_out: u64 => ANY,
        /// The share above which boxes overlap.
        iou_threshold: f32 = 0.5 => SHARE,
        /// What a score must be above.
        score_threshold: Option<f32> = None => FINITE,
        /// Whether boxes are x and y of the centre, width, height; else y, x of a corner and of the opposite one.
        center_point_box: bool = false,
        /// How many rows there is room for.
        largest: u64 => ANY,
    }
}

/// Checks boxes and scores; rows at most.
pub(super) fn rows(cx: &Infer<'_>, max_out: u64) -> Result<DimExpr, OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    cx.expect_rank(0, 3)?;
    cx.expect_rank(1, 3)?;
    let (boxes, scores) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
    cx.equal(&boxes[2], &DimExpr::constant(4), "the last axis of boxes and 4")?;
    cx.equal(&boxes[0], &scores[0], "batches of boxes and of scores")?;
    cx.equal(&boxes[1], &scores[2], "boxes and their scores")?;
    let of_each = boxes[1].min_with(&DimExpr::from(max_out));
    Ok(&(&scores[0] * &scores[1]) * &of_each)
}

impl OpDef for NonMaxSuppressionParts {
    const OPERANDS: &'static [&'static str] = &["boxes", "scores"];
    const GRAD: Grad<Self> = Grad::No("which boxes stay is no smooth question");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (rows, largest) = (rows(cx, self.max_out)?, DimExpr::from(self.largest));
        cx.at_most(&rows, &largest, "boxes that may be kept and the largest number of them")?;
        let kept = ValueType::new(DType::I64, [largest, DimExpr::constant(3)]);
        Ok([kept, ValueType::new(DType::I32, [])].into_iter().collect())
    }

    fn samples() -> Vec<Sample> {
        let base = NonMaxSuppression { max_out: 5, iou_threshold: 0.3, ..NonMaxSuppression::default() };
        let (f, unit) = (DType::F32, Fill::Uniform(0.0, 1.0));
        let fills = |boxes: &Fill, scores: Fill| [boxes.clone(), scores];
        let plain = || fills(&unit, Fill::Normal);
        let mut samples = vec![
            case("ties", f, [2, 3, 33], base, fills(&unit, Fill::Range(0, 3))),
            case("identical boxes", f, [1, 1, 10], base, fills(&Fill::Constant(0.5), Fill::Normal)),
            case("any floats", f, [2, 2, 40], base, fills(&Fill::Special, Fill::Special)),
            case("whole numbers", f, [1, 2, 65], base, fills(&Fill::Range(-4, 5), Fill::Range(-4, 5))),
            case("scores that are NaN", f, [1, 2, 9], base, fills(&unit, Fill::Constant(f64::NAN))),
            case("no room", f, [2, 3, 9], NonMaxSuppression { max_out: 0, ..base }, plain()),
        ];
        samples.extend([1, 9, 300].map(|max_out| {
            let op = NonMaxSuppression { max_out, ..base };
            case(&format!("{max_out} of each"), f, [2, 3, 40], op, plain())
        }));
        samples.extend([0.0, 0.5, 1.0].map(|iou_threshold| {
            let op = NonMaxSuppression { iou_threshold, ..base };
            case(
                &format!("share {iou_threshold}"),
                f,
                [1, 2, 31],
                op,
                fills(&Fill::Range(0, 3), Fill::Normal),
            )
        }));
        samples.extend([Some(0.25), Some(-0.5), Some(9.0), None].map(|score_threshold| {
            let op = NonMaxSuppression { score_threshold, ..base };
            case(&format!("above {score_threshold:?}"), f, [2, 2, 32], op, plain())
        }));
        let centred = NonMaxSuppression { center_point_box: true, ..base };
        samples.push(case("centres", f, [2, 2, 40], centred, plain()));
        samples.push(case("any centres", f, [1, 2, 40], centred, fills(&Fill::Special, Fill::Any)));
        samples.extend(FLOATS.iter().map(|&d| case("by dtype", d, [2, 1, 33], base, plain())));
        let shapes = [[0, 2, 3], [2, 0, 3], [2, 2, 0], [1, 1, 1], [1, 1, 257], [3, 70, 2], [1, 3, 1025]];
        samples.extend(shapes.map(|shape| case("by shape", f, shape, base, plain())));
        samples.push(turned(base));
        samples.extend([[0, 0, 0], [1, 2, 0], [2, 1, 9], [3, 2, 20]].map(|extents| symbolic(extents, base)));
        samples
    }
}

fn outputs(g: &GraphBuilder, boxes: Value, scores: Value, op: NonMaxSuppression, largest: u64) {
    let [kept, count] = g.non_max_suppression_parts(boxes, scores, op, largest);
    g.output("kept", kept);
    g.output("count", count);
}

/// Boxes and scores of so many batches, classes and boxes.
fn case(what: &str, d: DType, [b, c, n]: [u64; 3], op: NonMaxSuppression, fills: [Fill; 2]) -> Sample {
    let sample = Sample::graph(&format!("{what}, {d} [{b}, {c}, {n}]"), |g| {
        let (boxes, scores) =
            (g.input("boxes", tensor(d, [b, n, 4])), g.input("scores", tensor(d, [b, c, n])));
        outputs(g, boxes, scores, op, b * c * n.min(op.max_out) + 2);
    });
    let [boxes, scores] = fills;
    sample.fill("boxes", boxes).fill("scores", scores)
}

/// Of views: scores of classes beside each other, boxes by coordinate.
fn turned(op: NonMaxSuppression) -> Sample {
    Sample::graph("of transposed views", |g| {
        let [boxes, scores] = [("boxes", [2, 4, 30]), ("scores", [2, 30, 3])]
            .map(|(name, shape)| g.transpose(g.input(name, tensor(DType::F32, shape)), &[0, 2, 1]));
        outputs(g, boxes, scores, op, 2 * 3 * 5);
    })
    .fill("boxes", Fill::Uniform(0.0, 1.0))
}

fn symbolic([b, c, n]: [u64; 3], op: NonMaxSuppression) -> Sample {
    Sample::graph(&format!("symbolic, {b} of 3, {c} of 2, {n} of 20"), |g| {
        let [batch, class, boxes] = [sym("b", 0..=3), sym("c", 0..=2), sym("n", 0..=20)];
        let scores = g.input("scores", tensor(DType::F32, [batch.clone(), class, boxes.clone()]));
        let boxes = g.input("boxes", tensor(DType::F32, [batch, boxes, 4.into()]));
        outputs(g, boxes, scores, op, 3 * 2 * 5);
    })
    .fill("boxes", Fill::Uniform(0.0, 1.0))
    .bind("b", b)
    .bind("c", c)
    .bind("n", n)
}

impl GraphBuilder {
    /// The rows of [`non_max_suppression`](GraphBuilder::non_max_suppression) with room for `largest` of them, and
    /// their number: boxes\[b, n, 4\], scores\[b, c, n\] → i64\[largest, 3\], i32\[\].
    #[track_caller]
    pub fn non_max_suppression_parts(
        &self,
        boxes: Value,
        scores: Value,
        op: NonMaxSuppression,
        largest: u64,
    ) -> [Value; 2] {
        let NonMaxSuppression { max_out, iou_threshold, score_threshold, center_point_box } = op;
        let op =
            NonMaxSuppressionParts { max_out, iou_threshold, score_threshold, center_point_box, largest };
        let results = self.apply_all(op, &[Some(boxes), Some(scores)]);
        [results[0], results.get(1).copied().unwrap_or(results[0])]
    }
}
