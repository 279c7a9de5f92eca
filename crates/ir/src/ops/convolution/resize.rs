//! Resampling of axes, as a composition: its attributes, its rule, its axes two at a time. What one axis is made
//! of is in `resize_axis.rs`.

use super::resize_axis::{AxisMap, Place, Scale};
use crate::attr::{AttrError, FloatRange};
use crate::builder::{Composition, GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Cast;
use crate::ops::elementwise::FLOATS;
use pumice_types::{DType, DimExpr};

/// Axes that one step resamples.
const TOGETHER: usize = 2;

/// What is made of the elements around a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResizeMode {
    /// The nearest one.
    #[default]
    Nearest,
    /// The two on both sides, weighted by their distances.
    Linear,
    /// Four, weighted by Keys' polynomials.
    Cubic,
}

/// Where position i of m lies on an axis of n elements; s is m/n, or the scale that was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResizeCoordinates {
    /// (i + ½)/s − ½.
    #[default]
    HalfPixel,
    /// (n − 1)/2 + (2i + 1 − m)/(2s).
    HalfPixelSymmetric,
    /// As half pixel, 0 where m = 1.
    PytorchHalfPixel,
    /// i·(n − 1)/(m − 1), 0 where m = 1.
    AlignCorners,
    /// i/s.
    Asymmetric,
    /// start·(n − 1) + i·(end − start)·(n − 1)/(m − 1) in the region of interest, its middle where m = 1. What lies
    /// outside of the axis is `extrapolation_value`.
    TfCropAndResize,
}

/// Which element is nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResizeRounding {
    /// The nearest, of two equally near ones the lower.
    #[default]
    PreferFloor,
    /// The nearest, of two equally near ones the upper.
    PreferCeil,
    /// The one below.
    Floor,
    /// The one above.
    Ceil,
}

/// What `sizes` mean for the ratio of the axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResizeAspect {
    /// Each axis gets its size.
    #[default]
    Stretch,
    /// One scale for all, the largest that makes none larger than its size.
    NotLarger,
    /// One scale for all, the smallest that makes none smaller than its size.
    NotSmaller,
}

impl ResizeMode {
    /// Every mode.
    pub const ALL: [ResizeMode; 3] = [ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic];

    /// Elements along each axis that are weighted; 0: one is taken as it is.
    fn taps(self) -> i64 {
        match self {
            ResizeMode::Nearest => 0,
            ResizeMode::Linear => 2,
            ResizeMode::Cubic => 4,
        }
    }
}

impl ResizeCoordinates {
    /// Every map.
    pub const ALL: [ResizeCoordinates; 6] = [
        ResizeCoordinates::HalfPixel,
        ResizeCoordinates::HalfPixelSymmetric,
        ResizeCoordinates::PytorchHalfPixel,
        ResizeCoordinates::AlignCorners,
        ResizeCoordinates::Asymmetric,
        ResizeCoordinates::TfCropAndResize,
    ];
}

impl ResizeRounding {
    /// Every rounding.
    pub const ALL: [ResizeRounding; 4] = [
        ResizeRounding::PreferFloor,
        ResizeRounding::PreferCeil,
        ResizeRounding::Floor,
        ResizeRounding::Ceil,
    ];
}

impl ResizeAspect {
    /// Every policy.
    pub const ALL: [ResizeAspect; 3] =
        [ResizeAspect::Stretch, ResizeAspect::NotLarger, ResizeAspect::NotSmaller];
}

/// Attributes of [`GraphBuilder::resize`]: `sizes` or `scales`, one number for each of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// What is made of the elements around a place.
    pub mode: ResizeMode,
    /// Where places are.
    pub coordinates: ResizeCoordinates,
    /// Which element is nearest.
    pub nearest: ResizeRounding,
    /// The coefficient of Keys' polynomials.
    pub cubic_a: f32,
    /// Whether elements outside weigh nothing, the others then being divided by their sum; else the border stands
    /// there. Not of the nearest.
    pub exclude_outside: bool,
    /// What stands where a region of interest leaves the axis.
    pub extrapolation_value: f32,
    /// The new extents.
    pub sizes: Vec<DimExpr>,
    /// New extents as ⌊n·scale⌋, of the exact value of each number.
    pub scales: Vec<f32>,
    /// The axes; all if empty.
    pub axes: Vec<i64>,
    /// Begins of the region of interest on each axis, then its ends, in parts of the axis.
    pub roi: Vec<f32>,
    /// What `sizes` mean for the ratio of the axes.
    pub aspect: ResizeAspect,
    /// Wider filters where extents shrink; must be false so far.
    pub antialias: bool,
}

impl Default for Resize {
    fn default() -> Resize {
        Resize {
            mode: ResizeMode::Nearest,
            coordinates: ResizeCoordinates::HalfPixel,
            nearest: ResizeRounding::PreferFloor,
            cubic_a: -0.75,
            exclude_outside: false,
            extrapolation_value: 0.0,
            sizes: Vec::new(),
            scales: Vec::new(),
            axes: Vec::new(),
            roi: Vec::new(),
            aspect: ResizeAspect::Stretch,
            antialias: false,
        }
    }
}

impl GraphBuilder {
    /// Axes of other extents, whose elements are made of those that lie around their places (ONNX Resize): x\[…\] → x
    /// with the axes of `sizes`, or of ⌊n·scale⌋. Places are ratios of whole numbers, and which elements they are
    /// between is exact; the fraction of the distance is f32. Any dtype where the nearest element is taken, which keeps
    /// its bits; else floats, of which 16-bit ones are computed in f32 and rounded once. Axes are resampled two
    /// at a time. An axis that keeps its extent stays as it is.
    ///
    /// Errors: `antialias`; neither or both of sizes and scales; a scale that is not finite and positive, or is no
    /// ratio of whole numbers below 2^40; a region of interest or an aspect of symbolic extents; an axis that may have
    /// no elements, but must give some.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::resize::{Resize, ResizeMode};
    /// let g = GraphBuilder::new("g");
    /// let (mode, scales, axes) = (ResizeMode::Linear, vec![2.0, 1.5], vec![2, 3]);
    /// g.output("y", g.resize(g.input("x", f32([1, 3, 8, 8])), Resize { mode, scales, axes, ..Resize::default() }));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn resize(&self, x: Value, op: Resize) -> Value {
        self.resized("resize", x, &op)
    }

    /// A resize that is called as the method.
    #[track_caller]
    pub(super) fn resized(&self, method: &'static str, x: Value, op: &Resize) -> Value {
        let mut maps = Vec::new();
        let checked = self.checked_operands(method, &["x"], &[x], |cx| {
            maps = op.maps(cx)?;
            Ok(())
        });
        let ty = match checked {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let g = self.composition(method);
        let moves = op.mode == ResizeMode::Nearest;
        let mut y = if moves { x } else { g.widened(x, ty.dtype()) };
        maps.sort_by_key(|map| map.axis);
        for some in maps.chunks(TOGETHER) {
            y = g.resampled(y, ty.rank(), some, op);
        }
        g.last().apply(Cast { to: ty.dtype() }, &[y])
    }
}

impl Composition {
    /// One axis or two, in ascending order.
    #[track_caller]
    fn resampled(&self, x: Value, rank: usize, maps: &[AxisMap], op: &Resize) -> Value {
        let mut places: Vec<Place> = Vec::with_capacity(maps.len());
        for map in maps {
            places.push(self.place(map, op.coordinates));
        }
        let mut tables: Vec<(Value, Option<Value>)> = Vec::with_capacity(maps.len());
        for (place, map) in places.iter().zip(maps) {
            tables.push(self.table(place, map, op));
        }
        let Some(last) = tables.pop() else { return x };
        let axes: Vec<i64> = maps.iter().map(|map| map.axis as i64).collect();
        let mut y = self.resample(x, &axes, op.mode.taps(), last, tables.pop());
        for (place, map) in places.iter().zip(maps) {
            y = self.extrapolated(y, rank, (place, map), op);
        }
        y
    }

    /// Places of one axis, with their weights unless an element is taken as it is.
    #[track_caller]
    fn table(&self, place: &Place, map: &AxisMap, op: &Resize) -> (Value, Option<Value>) {
        if op.mode == ResizeMode::Nearest {
            return (self.cast(self.nearest(place, map, op.nearest), DType::I32), None);
        }
        let (places, weights) = self.weighted(place, map, op);
        (self.cast(places, DType::I32), Some(weights))
    }

    /// A value where a region of interest leaves the axis.
    #[track_caller]
    fn extrapolated(&self, y: Value, rank: usize, (place, map): (&Place, &AxisMap), op: &Resize) -> Value {
        let Some(outside) = place.outside else { return y };
        let dtype = self.type_of(y).map_or(DType::F32, |ty| ty.dtype());
        let value = self.constant_scalar(dtype, f64::from(op.extrapolation_value));
        let outside = self.over(outside, std::slice::from_ref(&map.m), rank - 1 - map.axis);
        self.select(outside, value, y)
    }
}

impl Resize {
    /// What becomes of each axis that does not stay as it is.
    fn maps(&self, cx: &Infer<'_>) -> Result<Vec<AxisMap>, OpError> {
        if self.mode != ResizeMode::Nearest {
            cx.expect_dtype(0, FLOATS)?;
        }
        self.refused()?;
        let shape = &cx.ty(0)?.shape;
        let axes = self.resized_axes(cx, shape.len())?;
        self.lengths(axes.len())?;
        let scale = self.one_scale(shape, &axes)?;
        let mut maps = Vec::new();
        for (i, &axis) in axes.iter().enumerate() {
            let roi = (self.roi.len() == 2 * axes.len()).then(|| [self.roi[i], self.roi[axes.len() + i]]);
            let map = self.map(&shape[axis], (i, axis), scale, roi)?;
            map.check(cx)?;
            if map.m != map.n || roi.is_some() || !map.scale.is_one() {
                maps.push(map);
            }
        }
        Ok(maps)
    }

    /// What does not go together.
    fn refused(&self) -> Result<(), OpError> {
        let value = |name, reason: &str| -> Result<(), OpError> {
            Err(AttrError::Value { name, reason: reason.to_owned() }.into())
        };
        in_range("cubic_a", self.cubic_a, FloatRange::FINITE)?;
        match () {
            () if self.antialias => value("antialias", "wider filters of smaller extents are not here yet"),
            () if self.sizes.is_empty() == self.scales.is_empty() => {
                value("sizes", "give either sizes or scales, not both or none")
            }
            () if self.aspect != ResizeAspect::Stretch && self.sizes.is_empty() => {
                value("aspect", "a ratio is kept of sizes, not of scales")
            }
            () if self.exclude_outside && self.mode == ResizeMode::Nearest => {
                value("exclude_outside", "the nearest element has no weight")
            }
            () if (self.coordinates == ResizeCoordinates::TfCropAndResize) == self.roi.is_empty() => {
                value("roi", "it is what tf_crop_and_resize reads, and nothing else does")
            }
            () if !self.roi.iter().all(|v| v.is_finite()) => value("roi", "its numbers are finite"),
            () => Ok(()),
        }
    }

    /// The axes, in the order of the lists.
    fn resized_axes(&self, cx: &Infer<'_>, rank: usize) -> Result<Vec<usize>, OpError> {
        if self.axes.is_empty() {
            return Ok((0..rank).collect());
        }
        cx.axes(&self.axes, rank)?;
        self.axes.iter().map(|&axis| cx.axis(axis, rank)).collect()
    }

    fn lengths(&self, axes: usize) -> Result<(), OpError> {
        let lists = [("sizes", self.sizes.len()), ("scales", self.scales.len()), ("roi", self.roi.len() / 2)];
        match lists.into_iter().find(|&(_, n)| n != 0 && n != axes) {
            None if self.roi.len().is_multiple_of(2) => Ok(()),
            None => {
                Err(AttrError::Value { name: "roi", reason: "begins and ends are as many".into() }.into())
            }
            Some((name, n)) => {
                Err(AttrError::Value { name, reason: format!("it is for {n} axes, not {axes}") }.into())
            }
        }
    }

    /// The scale that all axes have where a ratio is kept.
    fn one_scale(&self, shape: &[DimExpr], axes: &[usize]) -> Result<Option<Scale>, OpError> {
        if self.aspect == ResizeAspect::Stretch {
            return Ok(None);
        }
        let scales = self.sizes.iter().zip(axes).map(|(m, &axis)| {
            Some((u64::try_from(m.as_const()?).ok()?, shape[axis].as_extent().filter(|&n| n > 0)?))
        });
        let Some(scales) = scales.collect::<Option<Vec<(u64, u64)>>>() else {
            let reason = "a ratio is kept of constant extents, of one element or more".to_owned();
            return Err(AttrError::Value { name: "aspect", reason }.into());
        };
        let order = |a: &&(u64, u64), b: &&(u64, u64)| {
            (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
        };
        let one = match self.aspect {
            ResizeAspect::NotLarger => scales.iter().min_by(order),
            _ => scales.iter().max_by(order),
        };
        Ok(one.map(|&(m, n)| Scale::Ratio(m as i64, n as i64)))
    }

    /// What becomes of an axis.
    fn map(
        &self,
        n: &DimExpr,
        (i, axis): (usize, usize),
        one: Option<Scale>,
        roi: Option<[f32; 2]>,
    ) -> Result<AxisMap, OpError> {
        let n = n.clone();
        let (scale, m) = match (one, self.scales.get(i)) {
            (Some(scale), _) => (scale, scale.rounded(&n)),
            (None, None) => (Scale::Extents, self.sizes[i].clone()),
            (None, Some(&scale)) => {
                let exact = Scale::of(scale)?;
                (exact, exact.extent(&n, scale, roi)?)
            }
        };
        Ok(AxisMap { axis, n, m, scale, roi })
    }
}
