//! Resampling.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::ops::resize::{Resize, ResizeAspect, ResizeCoordinates, ResizeMode, ResizeRounding};
use pumice_types::DimExpr;

pub(super) const RULES: &[Rule] = &[rule("Resize", 11, resize), rule("Upsample", 9, upsample)];

const MODES: [(&str, ResizeMode); 3] =
    [("nearest", ResizeMode::Nearest), ("linear", ResizeMode::Linear), ("cubic", ResizeMode::Cubic)];

const COORDINATES: [(&str, ResizeCoordinates); 6] = [
    ("half_pixel", ResizeCoordinates::HalfPixel),
    ("half_pixel_symmetric", ResizeCoordinates::HalfPixelSymmetric),
    ("pytorch_half_pixel", ResizeCoordinates::PytorchHalfPixel),
    ("align_corners", ResizeCoordinates::AlignCorners),
    ("asymmetric", ResizeCoordinates::Asymmetric),
    ("tf_crop_and_resize", ResizeCoordinates::TfCropAndResize),
];

const ROUNDINGS: [(&str, ResizeRounding); 4] = [
    ("round_prefer_floor", ResizeRounding::PreferFloor),
    ("round_prefer_ceil", ResizeRounding::PreferCeil),
    ("floor", ResizeRounding::Floor),
    ("ceil", ResizeRounding::Ceil),
];

const ASPECTS: [(&str, ResizeAspect); 3] = [
    ("stretch", ResizeAspect::Stretch),
    ("not_larger", ResizeAspect::NotLarger),
    ("not_smaller", ResizeAspect::NotSmaller),
];

/// Inputs: x, region of interest, scales, sizes; empty lists are none.
fn resize(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let (roi, scales) = (c.opt_floats(1)?.unwrap_or_default(), c.opt_floats(2)?.unwrap_or_default());
    let sizes: Vec<DimExpr> = c.opt_ints(3)?.unwrap_or_default().into_iter().map(DimExpr::constant).collect();
    let coordinates = c.choice("coordinate_transformation_mode", "half_pixel", &COORDINATES)?;
    let crops = coordinates == ResizeCoordinates::TfCropAndResize;
    let op = Resize {
        mode: c.choice("mode", "nearest", &MODES)?,
        coordinates,
        nearest: c.choice("nearest_mode", "round_prefer_floor", &ROUNDINGS)?,
        cubic_a: c.float("cubic_coeff_a", -0.75)?,
        exclude_outside: c.flag("exclude_outside", false)?,
        extrapolation_value: c.float("extrapolation_value", 0.0)?,
        sizes,
        scales,
        axes: c.opt_ints_of("axes")?.unwrap_or_default(),
        roi: if crops { roi } else { Vec::new() },
        aspect: c.choice("keep_aspect_ratio_policy", "stretch", &ASPECTS)?,
        antialias: c.flag("antialias", false)?,
    };
    one(c.g.resize(x, op))
}

fn upsample(c: &mut Call<'_>) -> Results {
    let (x, scales) = (c.x(0)?, c.opt_floats(1)?);
    let scales = scales.ok_or(OnnxError::MissingInput { op: c.op, input: 1 })?;
    let linear = c.choice("mode", "nearest", &[("nearest", false), ("linear", true)])?;
    one(c.g.upsample(x, &scales, linear))
}
