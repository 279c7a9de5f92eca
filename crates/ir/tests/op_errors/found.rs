//! What ops refuse whose results are as long as the run finds.

use super::mistake;
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;
use pumice_ir::shape::TypeSpec;
use pumice_ir::{GraphBuilder, OpError, Value, bool_, f32, i32, sym, tensor};
use pumice_types::DType;

fn kept(g: &GraphBuilder, boxes: [u64; 3], scores: [u64; 3], op: NonMaxSuppression) -> Value {
    g.non_max_suppression(g.input("boxes", f32(boxes)), g.input("scores", f32(scores)), op)
}

fn numbers(g: &GraphBuilder, types: [TypeSpec; 3], largest: u64) -> Value {
    let [start, limit, delta] = types;
    let [start, limit, delta] =
        [("start", start), ("limit", limit), ("delta", delta)].map(|(name, ty)| g.input(name, ty));
    g.range_of_values(start, limit, delta, 0..=largest)
}

fn all() -> NonMaxSuppression {
    NonMaxSuppression::default()
}

refuses! {
    unlike_along_no_axis: |g| g.unique(g.input("x", f32([2, 3])), Unique { axis: Some(2), sorted: true })[0]
        => OpError::AxisOutOfRange { axis: 2, rank: 2 },
    unlike_along_an_axis_of_rank_0: |g| g.unique(g.input("x", f32::<u64>([])), Unique { axis: Some(0), sorted: true })[3]
        => OpError::AxisOutOfRange { axis: 0, rank: 0 },
    unlike_ones_without_room: |g| g.unique_parts(g.input("x", f32([7])), Unique::default(), 6)[0]
        => OpError::ExtentExceeds { .. },
    unlike_rows_beyond_what_is_counted: |g| g.unique(g.input("x", f32([sym("n", 0..=1 << 31), 2.into()])), Unique { axis: Some(0), sorted: true })[1]
        => OpError::Attr(_),
    unlike_elements_beyond_64_bits: |g| g.unique(g.input("x", f32([1 << 40, 1 << 40])), Unique::default())[2]
        => OpError::Attr(_),
    boxes_of_three_numbers: |g| kept(g, [1, 5, 3], [1, 2, 5], all()) => OpError::ExtentMismatch { .. },
    scores_of_other_boxes: |g| kept(g, [1, 5, 4], [1, 2, 6], all()) => OpError::ExtentMismatch { .. },
    scores_of_other_batches: |g| kept(g, [1, 5, 4], [2, 2, 5], all()) => OpError::ExtentMismatch { .. },
    boxes_of_one_image: |g| g.non_max_suppression(g.input("boxes", f32([5, 4])), g.input("scores", f32([1, 2, 5])), all())
        => OpError::Rank { operand: "boxes", .. },
    boxes_of_integers: |g| g.non_max_suppression(g.input("boxes", i32([1, 5, 4])), g.input("scores", i32([1, 2, 5])), all())
        => OpError::DType { operand: "boxes", .. },
    scores_of_another_type: |g| g.non_max_suppression(g.input("boxes", f32([1, 5, 4])), g.input("scores", tensor(DType::F16, [1, 2, 5])), all())
        => OpError::DTypeMismatch { .. },
    shares_above_1: |g| kept(g, [1, 5, 4], [1, 2, 5], NonMaxSuppression { iou_threshold: 1.5, ..all() }) => OpError::Attr(_),
    shares_that_are_nan: |g| kept(g, [1, 5, 4], [1, 2, 5], NonMaxSuppression { iou_threshold: f32::NAN, ..all() }) => OpError::Attr(_),
    scores_above_nan: |g| kept(g, [1, 5, 4], [1, 2, 5], NonMaxSuppression { score_threshold: Some(f32::NAN), ..all() }) => OpError::Attr(_),
    boxes_beyond_what_is_counted: |g| kept(g, [1 << 20, 1 << 20, 4], [1 << 20, 1 << 40, 1 << 20], all()) => OpError::Attr(_),
    boxes_without_room: |g| g.non_max_suppression_parts(g.input("boxes", f32([1, 5, 4])), g.input("scores", f32([1, 2, 5])), NonMaxSuppression { max_out: 3, ..all() }, 5)[1]
        => OpError::ExtentExceeds { .. },
    numbers_of_a_list: |g| numbers(g, [i32([3]), i32::<u64>([]), i32::<u64>([])], 9) => OpError::Rank { operand: "start", .. },
    numbers_of_unlike_types: |g| numbers(g, [i32::<u64>([]), tensor::<u64>(DType::I64, []), i32::<u64>([])], 9) => OpError::DTypeMismatch { .. },
    numbers_of_booleans: |g| numbers(g, [(); 3].map(|()| bool_::<u64>([])), 9) => OpError::DType { operand: "start", .. },
    numbers_beyond_what_f32_counts: |g| numbers(g, [(); 3].map(|()| f32::<u64>([])), 1 << 25) => OpError::Invalid(_),
    numbers_beyond_what_is_counted: |g| numbers(g, [(); 3].map(|()| i32::<u64>([])), 1 << 40) => OpError::Invalid(_),
    numbers_of_which_there_is_one: |g| g.range_of_values(g.input("a", i32::<u64>([])), g.input("b", i32::<u64>([])), g.input("c", i32::<u64>([])), 1..=9)
        => OpError::Invalid(_),
}
