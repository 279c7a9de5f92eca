//! Cases of `goldens_found.py`: results as long as the run finds.

use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::Golden;

/// How many of the operands are data; the others say attributes. None of ops that are not here.
pub(super) fn data(op: &str) -> Option<usize> {
    (op == "NonMaxSuppression").then_some(2)
}

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    Some(match case.op.as_str() {
        "Unique" => {
            let axis = case.number("axis").map(|axis| axis as i64);
            g.unique(x[0], Unique { axis, sorted: case.flag("sorted") }).to_vec()
        }
        "NonMaxSuppression" => {
            let number = |place: usize| case.operands.get(place)?.as_ref()?.floats().first().copied();
            let op = NonMaxSuppression {
                max_out: number(2).unwrap_or(0.0) as u64,
                iou_threshold: number(3).unwrap_or(0.0) as f32,
                score_threshold: number(4).map(|v| v as f32),
                center_point_box: case.flag("center_point_box"),
            };
            vec![g.non_max_suppression(x[0], x[1], op)]
        }
        "range_of_values" => vec![g.range_of_values(x[0], x[1], x[2], 0..=case.int("largest") as u64)],
        _ => return None,
    })
}
