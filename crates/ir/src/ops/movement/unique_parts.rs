//! `UniqueParts`: unlike slices at their largest number, and how many there are. `unique` is made of it.

use super::unique::Unique;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, product, sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// Slices along an axis of which no two are equal, without an axis elements in row-major order (ONNX Unique before
    /// its results have their extents): values, i64 place of the first slice that equals each value, i64 number of the
    /// value that each slice equals, i64 number of slices that equal each value, i32\[\] number of values. There is
    /// room for `largest` values; those after the last are 0.
    ///
    /// NaN equals NaN and −0 equals 0; a value has the bits of its first slice. Sorted values ascend, slices by their
    /// first elements that differ in row-major order, with NaN above infinity and false below true; others are in the
    /// order of their first places. Slices of no element are equal.
    pub struct UniqueParts {
        /// The axis along which slices are compared; none compares elements.
        axis: Option<i64> = None,
        /// Whether values ascend.
        sorted: bool = true,
        /// How many values there is room for: the extent of the axis or more.
        largest: u64 => ANY,
    }
}

/// The number of slices, the shape of them all, and their axis in it.
pub(super) fn slices(x: &ValueType, axis: Option<i64>) -> Result<(DimExpr, Vec<DimExpr>, usize), OpError> {
    let Some(axis) = axis else { return Ok((product(&x.shape), vec![product(&x.shape)], 0)) };
    let at = normalize_axis(axis, x.rank())?;
    Ok((x.shape[at].clone(), x.shape.to_vec(), at))
}

impl OpDef for UniqueParts {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::No("which values are alike is no smooth question");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (extent, mut shape, at) = slices(cx.ty(0)?, self.axis)?;
        let largest = DimExpr::from(self.largest);
        cx.at_most(&extent, &largest, "slices and the largest number of values")?;
        shape[at] = largest.clone();
        let list = |extent: DimExpr| ValueType::new(DType::I64, [extent]);
        let values = ValueType::new(cx.ty(0)?.dtype(), shape);
        let count = ValueType::new(DType::I32, []);
        Ok([values, list(largest.clone()), list(extent), list(largest), count].into_iter().collect())
    }

    fn samples() -> Vec<Sample> {
        let (f, some) = (DType::F32, Fill::Range(-2, 3));
        let mut samples: Vec<Sample> = Vec::new();
        for sorted in [true, false] {
            let case = |d: DType, shape: &[u64], axis, fill: &Fill| {
                case(d, shape, Unique { axis, sorted }, 0, fill.clone())
            };
            samples.extend([0, 1, 2, 33, 257, 1025].map(|n| case(f, &[n], None, &some)));
            samples.extend(DType::ALL.map(|d| case(d, &[40], None, &Fill::Special)));
            samples.extend(DType::ALL.map(|d| case(d, &[30, 2], Some(0), &Fill::Range(0, 2))));
            samples.extend([
                case(f, &[], None, &some),
                case(f, &[3, 5, 7], None, &some),
                case(f, &[9, 3, 2], Some(0), &Fill::Range(0, 2)),
                case(f, &[2, 20, 2], Some(1), &Fill::Range(0, 2)),
                case(f, &[2, 3, 30], Some(-1), &Fill::Range(0, 2)),
                case(f, &[40, 1], Some(0), &Fill::Special),
                case(f, &[0, 3], Some(0), &some),
                case(f, &[3, 0], Some(0), &some),
                case(f, &[3, 0], Some(1), &some),
                case(f, &[2, 3, 2, 1, 2, 2, 1, 2], Some(1), &Fill::Range(0, 2)),
                case(f, &[65], None, &Fill::Constant(-0.0)),
                case(f, &[65], None, &Fill::Constant(f64::NAN)),
                case(f, &[7], None, &Fill::Floats(vec![0.0, -0.0, 1.0])),
                case(f, &[300], None, &Fill::Normal),
                case(f, &[70_001], None, &Fill::Range(-300, 300)),
            ]);
            samples.push(self::case(f, &[6], Unique { axis: None, sorted }, 5, some.clone()));
            samples.push(turned(sorted));
            samples.extend([0, 1, 9].map(|n| symbolic(n, sorted)));
        }
        samples
    }
}

/// All results of x with room for `more` values than there can be.
fn case(d: DType, shape: &[u64], op: Unique, more: u64, fill: Fill) -> Sample {
    let Unique { axis, sorted } = op;
    let label = format!("{d} {shape:?} along {axis:?}, sorted {sorted}, {more} more, {fill:?}");
    let sample = Sample::graph(&label, |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let slices =
            axis.map_or(shape.iter().product(), |a| shape[a.rem_euclid(shape.len() as i64) as usize]);
        outputs(g, x, op, slices + more);
    });
    sample.fill("x", fill)
}

fn outputs(g: &GraphBuilder, x: Value, op: Unique, largest: u64) {
    let names = ["values", "first", "inverse", "counts", "count"];
    for (name, value) in names.into_iter().zip(g.unique_parts(x, op, largest)) {
        g.output(name, value);
    }
}

/// Of a view whose axes are exchanged.
fn turned(sorted: bool) -> Sample {
    Sample::graph(&format!("of a transposed view, sorted {sorted}"), |g| {
        let x = g.transpose(g.input("x", tensor(DType::F32, [3, 12])), &[1, 0]);
        outputs(g, x, Unique { axis: Some(0), sorted }, 12);
    })
    .fill("x", Fill::Range(0, 2))
}

fn symbolic(n: u64, sorted: bool) -> Sample {
    Sample::graph(&format!("symbolic, {n} of 9, sorted {sorted}"), |g| {
        let x = g.input("x", tensor(DType::I32, [sym("n", 0..=9), 2.into()]));
        outputs(g, x, Unique { axis: Some(0), sorted }, 9);
        let all = g.unique_parts(x, Unique { axis: None, sorted }, 18);
        g.output("elements", all[0]);
        g.output("inverse of elements", all[2]);
    })
    .fill("x", Fill::Range(0, 3))
    .bind("n", n)
}

impl GraphBuilder {
    /// The results of [`unique`](GraphBuilder::unique) with room for `largest` values, and their number:
    /// x\[…, d, …\] → values \[…, largest, …\], i64\[largest\], i64\[d\], i64\[largest\], i32\[\].
    #[track_caller]
    pub fn unique_parts(&self, x: Value, op: Unique, largest: u64) -> [Value; 5] {
        let Unique { axis, sorted } = op;
        let results = self.apply_all(UniqueParts { axis, sorted, largest }, &[Some(x)]);
        std::array::from_fn(|i| results.get(i).copied().unwrap_or(results[0]))
    }
}
