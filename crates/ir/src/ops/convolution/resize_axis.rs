//! One axis of a resize: where its elements come from, by ratios of whole numbers, and with which weights.

use super::resize::{Resize, ResizeCoordinates, ResizeMode, ResizeRounding};
use crate::attr::AttrError;
use crate::builder::{Composition, Value};
use crate::error::OpError;
use crate::infer::Infer;
use pumice_types::{DType, DimExpr, Tensor};

/// Terms of a scale are below this, so that places are counted in i64.
const MOST: i64 = 1 << 40;
/// The most places of an axis in a region of interest: their table is made while the graph is built.
const MOST_OF_REGION: u64 = 1 << 24;
/// What places in a region of interest are counted in.
const PARTS: f64 = (1u64 << 32) as f64;

/// How many elements become how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// As the extents say.
    Extents,
    /// This many of that many.
    Ratio(i64, i64),
}

impl Scale {
    /// The exact value of a number.
    pub fn of(scale: f32) -> Result<Scale, OpError> {
        let refused =
            |reason: &str| Err(AttrError::Value { name: "scales", reason: reason.to_owned() }.into());
        if !(scale.is_finite() && scale > 0.0) {
            return refused("a scale is finite and above 0");
        }
        let (mut up, mut down) = (f64::from(scale), 1.0);
        while up.fract() != 0.0 && down < MOST as f64 {
            (up, down) = (2.0 * up, 2.0 * down);
        }
        if up.fract() != 0.0 || up >= MOST as f64 {
            return refused("a scale is a ratio of whole numbers below 2^40");
        }
        Ok(Scale::Ratio(up as i64, down as i64))
    }

    pub fn is_one(self) -> bool {
        matches!(self, Scale::Extents) || matches!(self, Scale::Ratio(a, b) if a == b)
    }

    /// ⌊n·scale⌋; of a region of interest of that part of the axis.
    pub fn extent(self, n: &DimExpr, scale: f32, roi: Option<[f32; 2]>) -> Result<DimExpr, OpError> {
        if let Some([begin, end]) = roi {
            let n = constant(n)? as f64;
            return Ok(DimExpr::constant(
                (n * (f64::from(end) - f64::from(begin)) * f64::from(scale)).floor() as i64,
            ));
        }
        let Scale::Ratio(up, down) = self else { return Ok(n.clone()) };
        Ok((n * &DimExpr::constant(up)).floor_div(&DimExpr::constant(down)))
    }

    /// ⌊n·scale + ½⌋.
    pub fn rounded(self, n: &DimExpr) -> DimExpr {
        let Scale::Ratio(up, down) = self else { return n.clone() };
        let [up, down] = [up, down].map(DimExpr::constant);
        (n * &up * 2u64 + &down).floor_div(&(&down * 2u64))
    }
}

fn constant(n: &DimExpr) -> Result<u64, OpError> {
    n.as_extent().ok_or_else(|| {
        let reason = "a region of interest is of constant extents".to_owned();
        AttrError::Value { name: "roi", reason }.into()
    })
}

/// What becomes of an axis.
pub(super) struct AxisMap {
    pub axis: usize,
    /// Elements before.
    pub n: DimExpr,
    /// Elements after.
    pub m: DimExpr,
    pub scale: Scale,
    /// Begin and end of the region of interest.
    pub roi: Option<[f32; 2]>,
}

impl AxisMap {
    /// Errors where elements would be made of none, or places could not be counted.
    pub fn check(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let show = |d: &DimExpr| cx.show(std::slice::from_ref(d));
        let (m, n) = (self.m.bounds(cx.symbols()), self.n.bounds(cx.symbols()));
        if m.0 < 0 {
            return Err(OpError::NegativeExtent { axis: self.axis, extent: show(&self.m) });
        }
        // Of none a scale makes none.
        let by_scale = self.roi.is_none() && matches!(self.scale, Scale::Ratio(..));
        if n.0 == 0 && m.1 > 0 && !by_scale {
            let what = "an axis that may have no elements, of which some are made".to_owned();
            return Err(OpError::ExtentUnsupported { what, extent: show(&self.n) });
        }
        if self.roi.is_some() {
            constant(&self.n)?;
            if constant(&self.m)? > MOST_OF_REGION {
                let what = "an axis of more than 2^24 places in a region of interest".to_owned();
                return Err(OpError::ExtentUnsupported { what, extent: show(&self.m) });
            }
        }
        self.countable(cx)
    }

    /// Errors where places are beyond what i64 holds.
    fn countable(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let [n, m] = [&self.n, &self.m].map(|d| d.bounds(cx.symbols()));
        let (up, down) = match self.scale {
            Scale::Extents => (m.1, n.1),
            Scale::Ratio(up, down) => (up, down),
        };
        let most = (2 * i128::from(m.1) + 2) * i128::from(down) + (i128::from(n.1) + 1) * i128::from(up);
        if most >= 1 << 62 {
            let shown = cx.show(std::slice::from_ref(&self.m));
            return Err(OpError::Invalid(format!("an axis of {shown} has places beyond 62 bits")));
        }
        Ok(())
    }
}

/// Places on an axis, one for each new element: tables over them.
pub(super) struct Place {
    /// The element at or below it.
    below: Value,
    /// How far after it, times…
    rest: Value,
    /// …this.
    unit: Value,
    /// Whether it is outside of the axis and must be told from the border.
    pub outside: Option<Value>,
}

impl Composition {
    /// The places of an axis.
    #[track_caller]
    pub(super) fn place(&self, map: &AxisMap, coordinates: ResizeCoordinates) -> Place {
        let (place, unit, outside) = match map.roi {
            Some(roi) => self.in_region(map, roi),
            None => {
                let (place, unit) = self.ratio(map, coordinates);
                (place, unit, None)
            }
        };
        let rest = self.modulo(place, unit, false);
        Place { below: self.div(self.sub(place, rest), unit), rest, unit, outside }
    }

    /// Places times a unit, and the unit.
    #[track_caller]
    fn ratio(&self, map: &AxisMap, coordinates: ResizeCoordinates) -> (Value, Value) {
        use ResizeCoordinates::{AlignCorners, Asymmetric, HalfPixelSymmetric, PytorchHalfPixel};
        let (n, m) = (self.length(&map.n), self.length(&map.m));
        let (up, down) = match map.scale {
            Scale::Extents => (m, n),
            Scale::Ratio(up, down) => (self.whole(up), self.whole(down)),
        };
        let (i, last) = (self.counted(&map.m), self.scaled(n, 1, -1));
        match coordinates {
            Asymmetric => (self.mul(i, down), up),
            AlignCorners => (self.mul(i, last), self.at_least(self.scaled(m, 1, -1), self.whole(1))),
            HalfPixelSymmetric => {
                let apart = self.mul(self.sub(self.scaled(i, 2, 1), m), down);
                (self.add(self.mul(last, up), apart), self.scaled(up, 2, 0))
            }
            _ => {
                let half = self.sub(self.mul(self.scaled(i, 2, 1), down), up);
                let place = if coordinates == PytorchHalfPixel { self.not_alone(m, half) } else { half };
                (place, self.scaled(up, 2, 0))
            }
        }
    }

    /// Places, 0 where there is one alone.
    #[track_caller]
    fn not_alone(&self, m: Value, places: Value) -> Value {
        self.select(self.equal(m, self.whole(1)), self.whole(0), places)
    }

    /// Places in a region of interest, of constant extents.
    #[track_caller]
    fn in_region(&self, map: &AxisMap, roi: [f32; 2]) -> (Value, Value, Option<Value>) {
        let (n, m) = (map.n.as_extent().unwrap_or(0) as f64 - 1.0, map.m.as_extent().unwrap_or(0));
        let [begin, end] = roi.map(f64::from);
        let at = |i: u64| match m {
            1 => 0.5 * (begin + end) * n,
            _ => begin * n + i as f64 * (end - begin) * n / (m as f64 - 1.0),
        };
        let places: Vec<i64> = (0..m).map(|i| (at(i) * PARTS).round() as i64).collect();
        let outside: Vec<bool> = (0..m).map(|i| at(i) < 0.0 || at(i) > n).collect();
        let bools = Tensor::bools(&outside, &[m]).expect("as many as the extent");
        let table = self.constant(Tensor::new(&places, &[m]).expect("as many as the extent"));
        (table, self.whole(PARTS as i64), Some(self.constant(bools)))
    }

    /// The nearest elements, those of the border outside.
    #[track_caller]
    pub(super) fn nearest(&self, place: &Place, map: &AxisMap, rounding: ResizeRounding) -> Value {
        let twice = || self.scaled(place.rest, 2, 0);
        let up = match rounding {
            ResizeRounding::Floor => None,
            ResizeRounding::Ceil => Some(self.less(self.whole(0), place.rest)),
            ResizeRounding::PreferFloor => Some(self.less(place.unit, twice())),
            ResizeRounding::PreferCeil => Some(self.less_or_equal(place.unit, twice())),
        };
        let nearest = up.map_or(place.below, |up| self.add(place.below, self.cast(up, DType::I64)));
        self.between(nearest, self.whole(0), self.scaled(self.length(&map.n), 1, -1))
    }

    /// Elements around the places and their weights, \[m, taps\].
    #[track_caller]
    pub(super) fn weighted(&self, place: &Place, map: &AxisMap, op: &Resize) -> (Value, Value) {
        let t = self.div(self.cast(place.rest, DType::F32), self.cast(place.unit, DType::F32));
        let (weights, first) = match op.mode {
            ResizeMode::Cubic => (self.keys(t, op.cubic_a), -1),
            _ => (vec![self.affine(t, -1.0, 1.0), t], 0),
        };
        let taps = DimExpr::from(weights.len() as u64);
        let column = self.over(self.scaled(place.below, 1, first), std::slice::from_ref(&map.m), 1);
        let at = self.add(column, self.counted(&taps));
        let last = self.scaled(self.length(&map.n), 1, -1);
        let mut weights = self.stack(&weights, 1);
        if op.exclude_outside {
            weights = self.of_inside(weights, at, last);
        }
        (self.between(at, self.whole(0), last), weights)
    }

    /// Weights without those of elements outside, the others being divided by their sum.
    #[track_caller]
    fn of_inside(&self, weights: Value, at: Value, last: Value) -> Value {
        let inside = self.and(self.less_or_equal(self.whole(0), at), self.less_or_equal(at, last));
        let kept = self.select(inside, weights, self.constant_scalar(DType::F32, 0.0));
        self.div(kept, self.reduce_sum(kept, &[1], true))
    }

    /// Keys' polynomials at the distances 1 + t, t, 1 − t, 2 − t.
    #[track_caller]
    fn keys(&self, t: Value, a: f32) -> Vec<Value> {
        let u = self.affine(t, -1.0, 1.0);
        let far = |t: Value, u: Value| self.affine(self.mul(t, self.square(u)), a, 0.0);
        let near = |t: Value| {
            let slope = self.affine(t, a + 2.0, -(a + 3.0));
            self.affine(self.mul(slope, self.square(t)), 1.0, 1.0)
        };
        vec![far(t, u), near(t), near(u), far(u, t)]
    }
}
