//! Ops whose results are as long as the run finds.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;

pub(super) const RULES: &[Rule] = &[
    rule("NonZero", 9, non_zero),
    rule("Compress", 9, compress),
    rule("Unique", 11, unique),
    rule("NonMaxSuppression", 10, non_max_suppression),
];

fn non_zero(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    one(c.g.non_zero(x))
}

fn compress(c: &mut Call<'_>) -> Results {
    let (x, condition, axis) = (c.x(0)?, c.x(1)?, c.opt_int_of("axis")?);
    one(c.g.compress(x, condition, axis))
}

fn unique(c: &mut Call<'_>) -> Results {
    let (x, axis, sorted) = (c.x(0)?, c.opt_int_of("axis")?, c.flag("sorted", true)?);
    Ok(c.g.unique(x, Unique { axis, sorted }).to_vec())
}

/// Without a number of boxes there are none, as ONNX says.
fn non_max_suppression(c: &mut Call<'_>) -> Results {
    let (boxes, scores) = (c.x(0)?, c.x(1)?);
    let max_out = c.opt_int(2)?.map_or(0, |n| u64::try_from(n).unwrap_or(0));
    let (iou_threshold, score_threshold) = (c.opt_number(3)?.unwrap_or(0.0), c.opt_number(4)?);
    let center_point_box = c.flag("center_point_box", false)?;
    let op = NonMaxSuppression { max_out, iou_threshold, score_threshold, center_point_box };
    one(c.g.non_max_suppression(boxes, scores, op))
}

/// Range of values that only the run knows: integers of 16 bits and fewer are no more than those there are, of others
/// the caller says how many there may be.
pub(super) fn range(c: &mut Call<'_>) -> Results {
    let numbers = [c.x(0)?, c.x(1)?, c.x(2)?].map(|v| c.g.reshape(v, &[]));
    let dtype = c.ty(numbers[0])?.dtype();
    let of_few_bits = (dtype.is_int() && dtype.bits() <= 16).then(|| 1 << dtype.bits());
    let stated = c.largest_extent().or(of_few_bits);
    let largest = stated.ok_or(OnnxError::NoLargestExtent { op: c.op })?;
    let [start, limit, delta] = numbers;
    one(c.g.range_of_values(start, limit, delta, 0..=largest))
}
