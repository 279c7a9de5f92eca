//! What ops of images refuse.

use super::*;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::im2col::{Im2Col, Im2ColLayout};
use pumice_ir::ops::lp_pool::LpPool;
use pumice_ir::ops::max_pool::MaxPool;
use pumice_ir::ops::pool_spread::PoolSpread;
use pumice_ir::ops::resize::{Resize, ResizeAspect, ResizeCoordinates, ResizeMode};

fn image(g: &GraphBuilder) -> Value {
    g.input("x", f32([1, 6, 5, 4]))
}

/// Values of windows of 2 x 2 over 5 x 4, spread over these extents by places of that type.
fn spread(g: &GraphBuilder, extents: &[i64], places: pumice_ir::TypeSpec, mean: bool) -> Value {
    let (v, places) = (g.input("v", f32([1, 6, 4, 3])), g.input("places", places));
    let extents = extents.iter().map(|&n| DimExpr::constant(n)).collect();
    g.pool_spread(v, Some(places), PoolSpread { kernel: vec![2, 2], extents, mean, ..PoolSpread::default() })
}

fn resized(op: Resize) -> OpError {
    mistake(|g| g.resize(image(g), op))
}

fn twice() -> Resize {
    Resize { scales: vec![2.0, 2.0], axes: vec![2, 3], ..Resize::default() }
}

refuses! {
    groups_that_do_not_divide: |g| {
        let v = g.param("v", f32([6]));
        g.group_norm(image(g), v, v, GroupNorm { num_groups: 4, ..GroupNorm::default() })
    } => OpError::Invalid(_),
    a_norm_of_other_channels: |g| {
        let v = g.param("v", f32([5]));
        g.layer_norm2d(image(g), v, v, 1e-5)
    } => OpError::ExtentMismatch { .. },
    a_shift_without_a_scale: |g| {
        let (x, beta) = (image(g), g.param("beta", f32([4])));
        g.apply_all(pumice_ir::ops::LayerNorm::default(), &[Some(x), None, Some(beta)])[0]
    } => OpError::MissingOperand("gamma"),
    a_power_of_0: |g| g.lp_pool(image(g), LpPool { kernel: vec![2, 2], p: 0, ..LpPool::default() })
        => OpError::Attr(_),
    a_third_storage_order: |g| {
        g.max_pool_with_indices(image(g), MaxPool { kernel: vec![2, 2], ..MaxPool::default() }, 2).0
    } => OpError::Attr(_),
    places_of_no_elements: |g| {
        let x = g.input("x", f32([1.into(), 1.into(), sym("n", 0..=4)]));
        g.max_pool_with_indices(x, MaxPool { kernel: vec![1], ..MaxPool::default() }, 0).1
    } => OpError::ExtentUnsupported { .. },
    a_spread_over_other_axes: |g| spread(g, &[6], f32([1, 6, 4, 3]), false) => OpError::Attr(_),
    a_spread_over_other_extents: |g| spread(g, &[5, 5], f32([1, 6, 4, 3]), false) => OpError::ExtentMismatch { .. },
    a_spread_by_places_of_others: |g| spread(g, &[5, 4], f32([1, 6, 3, 3]), false) => OpError::DType { .. },
    places_of_other_windows: |g| spread(g, &[5, 4], i32([1, 6, 3, 3]), false) => OpError::ExtentMismatch { .. },
    means_that_go_to_places: |g| spread(g, &[5, 4], i32([1, 6, 4, 3]), true) => OpError::Attr(_),
    shares_of_another_rank: |g| g.adaptive_average_pool(image(g), &[2]) => OpError::Attr(_),
    columns_of_another_image: |g| {
        g.col2im(g.input("c", f32([1, 8, 9])), &[5, 4], Im2Col { kernel: vec![2, 2], ..Im2Col::default() })
    } => OpError::ExtentMismatch { .. },
    rows_of_an_image: |g| {
        let op = Im2Col { kernel: vec![2, 2], layout: Im2ColLayout::Rows, ..Im2Col::default() };
        g.col2im(g.input("c", f32([1, 8, 9])), &[4, 4], op)
    } => OpError::Attr(_),
}

#[test]
fn what_a_resize_does_not_take() {
    let (extents, none) = (vec![DimExpr::constant(7); 2], Resize::default());
    let wrong = [
        Resize { antialias: true, ..twice() },
        Resize { axes: vec![2, 3], ..none.clone() },
        Resize { sizes: extents.clone(), ..twice() },
        Resize { scales: vec![2.0], ..twice() },
        Resize { scales: vec![2.0, -1.0], ..twice() },
        Resize { scales: vec![2.0, f32::MIN_POSITIVE], ..twice() },
        Resize { exclude_outside: true, ..twice() },
        Resize { aspect: ResizeAspect::NotLarger, ..twice() },
        Resize { roi: vec![0.0, 0.0, 1.0, 1.0], ..twice() },
        Resize { coordinates: ResizeCoordinates::TfCropAndResize, ..twice() },
        Resize { cubic_a: f32::NAN, mode: ResizeMode::Cubic, ..twice() },
    ];
    for op in wrong {
        let (shown, error) = (format!("{op:?}"), resized(op));
        assert!(matches!(error, OpError::Attr(_)), "{shown}: {error}");
    }
    assert!(resized(Resize { antialias: true, ..twice() }).to_string().contains("antialias"));
    let again = resized(Resize { axes: vec![2, -2], ..twice() });
    assert!(matches!(again, OpError::DuplicateAxis(-2)), "{again}");
    let of_whole = mistake(|g| {
        g.resize(
            g.input("x", i32([4])),
            Resize { mode: ResizeMode::Linear, scales: vec![2.0], ..Resize::default() },
        )
    });
    assert!(matches!(of_whole, OpError::DType { .. }), "{of_whole}");
    let of_none = mistake(|g| {
        let sizes = vec![DimExpr::constant(3)];
        g.resize(g.input("x", f32([sym("n", 0..=4)])), Resize { sizes, ..Resize::default() })
    });
    assert!(matches!(of_none, OpError::ExtentUnsupported { .. }), "{of_none}");
}
