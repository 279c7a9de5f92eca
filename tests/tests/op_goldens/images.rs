//! Cases of `goldens_images.py`: norms of channels, pools, resampling.

use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::im2col::{Im2Col, Im2ColLayout};
use pumice_ir::ops::instance_norm::InstanceNorm;
use pumice_ir::ops::lp_pool::LpPool;
use pumice_ir::ops::max_pool::MaxPool;
use pumice_ir::ops::prod_pool::ProdPool;
use pumice_ir::ops::resize::{Resize, ResizeAspect, ResizeCoordinates, ResizeMode, ResizeRounding};
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::Golden;
use pumice_types::DimExpr;
use serde_json::Value as Json;

/// How many of the operands are data; the others say attributes. None of ops that are not here.
pub(super) fn data(op: &str) -> Option<usize> {
    (op == "Col2Im").then_some(1)
}

/// What a value counts as at least, of which results may differ by a share. A resize may differ by 2⁻²¹ of the elements
/// that it reads, which are sixteen of about 1.
pub(super) fn floor(op: &str) -> Option<f64> {
    (op == "Resize").then_some(2.5)
}

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    norm(case, g, x).or_else(|| pool(case, g, x)).or_else(|| resampled(case, g, x))
}

fn number(case: &Golden, name: &str) -> f32 {
    case.attributes.get(name).and_then(Json::as_f64).expect("a number") as f32
}

fn norm(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    let epsilon = || number(case, "epsilon");
    Some(match case.op.as_str() {
        "GroupNormalization" => {
            let op = GroupNorm { num_groups: case.int("num_groups") as u64, epsilon: epsilon() };
            vec![g.group_norm(x[0], x[1], x[2], op)]
        }
        "InstanceNormalization" => {
            vec![g.instance_norm(x[0], x[1], x[2], InstanceNorm { epsilon: epsilon() })]
        }
        "layer_norm2d" => vec![g.layer_norm2d(x[0], x[1], x[2], epsilon())],
        "batch_norm_training" => {
            let (momentum, unbiased_running) = (number(case, "momentum"), case.flag("unbiased_running"));
            let op = BatchNormTraining { epsilon: epsilon(), momentum, unbiased_running };
            let operands: Vec<Option<Value>> = x.iter().copied().map(Some).collect();
            g.apply_all(op, &operands)[..3].to_vec()
        }
        _ => return None,
    })
}

fn list<T>(case: &Golden, name: &str, number: impl Fn(&Json) -> Option<T>) -> Vec<T> {
    let values = case.attributes.get(name).and_then(Json::as_array);
    values.map_or(Vec::new(), |v| v.iter().map(|v| number(v).expect("a number")).collect())
}

fn counts(case: &Golden, name: &str) -> Vec<u64> {
    list(case, name, Json::as_u64)
}

fn reals(case: &Golden, name: &str) -> Vec<f32> {
    list(case, name, |v| v.as_f64().map(|v| v as f32))
}

fn pool(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    let [kernel, strides, pads, dilations] =
        ["kernel_shape", "strides", "pads", "dilations"].map(|name| counts(case, name));
    let (ceil_mode, p) = (case.flag("ceil_mode"), case.int("p") as u64);
    Some(match case.op.as_str() {
        "MaxPool" => {
            let op = MaxPool { kernel, strides, pads, dilations, ceil_mode };
            let (y, at) = g.max_pool_with_indices(x[0], op, case.int("storage_order") as u64);
            vec![y, at]
        }
        "LpPool" => vec![g.lp_pool(x[0], LpPool { kernel, strides, pads, dilations, ceil_mode, p })],
        "global_lp_pool" => vec![g.global_lp_pool(x[0], p)],
        "prod_pool" => vec![g.prod_pool(x[0], ProdPool { kernel, strides, pads, dilations, ceil_mode })],
        "adaptive_average_pool" => vec![g.adaptive_average_pool(x[0], &counts(case, "output"))],
        "im2col" => {
            let rows = case.word("layout") == "rows";
            let layout = if rows { Im2ColLayout::Rows } else { Im2ColLayout::Columns };
            vec![g.im2col(x[0], Im2Col { kernel, strides, pads, dilations, layout })]
        }
        "Col2Im" => {
            let lists = [1, 2].map(|i| case.operand(i).ints().into_iter().map(|n| n as u64).collect());
            let [image, kernel]: [Vec<u64>; 2] = lists;
            let op = Im2Col { kernel, strides, pads, dilations, ..Im2Col::default() };
            vec![g.col2im(x[0], &image, op)]
        }
        _ => return None,
    })
}

/// The variant that a word names, of those that the attribute's words stand for; the first where it is not said.
fn variant<T: Copy>(case: &Golden, name: &str, words: &[&str], variants: &[T]) -> T {
    let at = words.iter().position(|w| *w == case.word(name));
    variants[at.unwrap_or(0)]
}

fn resize(case: &Golden) -> Resize {
    let maps = [
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    ];
    let roundings = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"];
    let real = |name: &str, none: f32| case.attributes.get(name).map_or(none, |_| number(case, name));
    Resize {
        mode: variant(case, "mode", &["nearest", "linear", "cubic"], &ResizeMode::ALL),
        coordinates: variant(case, "coordinate_transformation_mode", &maps, &ResizeCoordinates::ALL),
        nearest: variant(case, "nearest_mode", &roundings, &ResizeRounding::ALL),
        cubic_a: real("cubic_coeff_a", -0.75),
        exclude_outside: case.flag("exclude_outside"),
        extrapolation_value: real("extrapolation_value", 0.0),
        sizes: counts(case, "sizes").into_iter().map(DimExpr::from).collect(),
        scales: reals(case, "scales"),
        axes: list(case, "axes", Json::as_i64),
        roi: reals(case, "roi"),
        aspect: variant(
            case,
            "keep_aspect_ratio_policy",
            &["stretch", "not_larger", "not_smaller"],
            &ResizeAspect::ALL,
        ),
        antialias: false,
    }
}

fn resampled(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    Some(match case.op.as_str() {
        "Resize" => vec![g.resize(x[0], resize(case))],
        "Upsample" => vec![g.upsample(x[0], &reals(case, "scales"), case.word("mode") == "linear")],
        "upsample_nearest_2x" => vec![g.upsample_nearest_2x(x[0])],
        _ => return None,
    })
}
