//! What blocks of pixels, diagonals and lengths of rows refuse.

use super::mistake;
use pumice_ir::ops::depth_to_space::DepthOrder;
use pumice_ir::ops::lp_normalization::LpNormalization;
use pumice_ir::{GraphBuilder, OpError, Value, f32};

fn image(g: &GraphBuilder) -> Value {
    g.input("x", f32([1, 6, 5, 4]))
}

refuses! {
    channels_that_are_no_blocks: |g| g.depth_to_space(image(g), 2, DepthOrder::PlaceFirst) => OpError::Invalid(_),
    pixels_that_are_no_blocks: |g| g.space_to_depth(image(g), 2, DepthOrder::PlaceFirst) => OpError::Invalid(_),
    blocks_without_a_side: |g| g.depth_to_space(image(g), 0, DepthOrder::PlaceFirst) => OpError::Attr(_),
    a_diagonal_of_four_axes: |g| g.eye_like(image(g), None, 0) => OpError::Rank { .. },
    a_length_along_a_fifth_axis: |g| {
        g.lp_normalization(image(g), LpNormalization { axis: 4, ..LpNormalization::default() })
    } => OpError::AxisOutOfRange { .. },
}
