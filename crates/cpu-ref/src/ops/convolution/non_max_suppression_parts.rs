//! `NonMaxSuppressionParts`: box by box, each beside those that are kept.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::NonMaxSuppressionParts;
use pumice_types::DType;
use std::cmp::Ordering;

/// Where a box begins and ends along two axes.
#[derive(Clone, Copy)]
struct Rect {
    from: [f64; 2],
    to: [f64; 2],
}

impl Rect {
    fn of(numbers: &[f64], center_point_box: bool) -> Rect {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| numbers[i]);
        if center_point_box {
            return Rect { from: [a - c / 2.0, b - d / 2.0], to: [a + c / 2.0, b + d / 2.0] };
        }
        Rect { from: [least(a, c), least(b, d)], to: [most(a, c), most(b, d)] }
    }

    /// NaN where it has one, 0 where it ends before it begins.
    fn area(self) -> f64 {
        let [height, width] = [0, 1].map(|i| most(self.to[i] - self.from[i], 0.0));
        height * width
    }

    fn common(self, other: Rect) -> Rect {
        let [from, to]: [[f64; 2]; 2] = [
            [0, 1].map(|i| most(self.from[i], other.from[i])),
            [0, 1].map(|i| least(self.to[i], other.to[i])),
        ];
        Rect { from, to }
    }

    /// The area in common with another of that of both together; NaN of two without area.
    fn share(self, other: Rect) -> f64 {
        let common = self.common(other).area();
        common / (self.area() + other.area() - common)
    }
}

/// The larger one, NaN where one is.
fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// The smaller one, NaN where one is.
fn least(a: f64, b: f64) -> f64 {
    -most(-a, -b)
}

/// The boxes of one class that are kept, the best first.
fn kept(op: &NonMaxSuppressionParts, boxes: &[Rect], scores: &[f64]) -> Vec<usize> {
    let overlap = |a: usize, b: usize| boxes[a].share(boxes[b]) as f32 > op.iou_threshold;
    let mut kept: Vec<usize> = Vec::new();
    for place in by_score(op, scores) {
        if kept.len() as u64 == op.max_out {
            break;
        }
        if !kept.iter().any(|&better| overlap(place, better)) {
            kept.push(place);
        }
    }
    kept
}

/// Places whose scores are high enough, the best first, of equal ones the lower first.
fn by_score(op: &NonMaxSuppressionParts, scores: &[f64]) -> Vec<usize> {
    let is_enough = |score: f64| match op.score_threshold {
        Some(threshold) => score > f64::from(threshold),
        None => !score.is_nan(),
    };
    let mut places: Vec<usize> = (0..scores.len()).filter(|&i| is_enough(scores[i])).collect();
    // No score is NaN, and the sort is stable.
    places.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).unwrap_or(Ordering::Equal));
    places
}

impl Eval for NonMaxSuppressionParts {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let scores = cx.arg(1);
        let [classes, n] = [1, 2].map(|axis| scores.shape[axis] as usize);
        let mut rows: Vec<i64> = Vec::new();
        for batch in 0..scores.shape[0] as usize {
            let numbers = &cx.arg(0).as_floats()[4 * n * batch..][..4 * n];
            let of_batch = |numbers: &[f64]| Rect::of(numbers, self.center_point_box);
            let boxes: Vec<Rect> = numbers.chunks_exact(4).map(of_batch).collect();
            for class in 0..classes {
                let scores = &scores.as_floats()[n * (classes * batch + class)..][..n];
                let kept = kept(self, &boxes, scores);
                rows.extend(kept.into_iter().flat_map(|place| [batch, class, place].map(|i| i as i64)));
            }
        }
        let count = rows.len() as i64 / 3;
        rows.resize(3 * self.largest as usize, 0);
        vec![Array::ints(DType::I64, cx.out().1, rows), Array::ints(DType::I32, &[], vec![count])]
    }
    exact!();
}
