//! `ScatterPlaces`: where each update of a scatter goes. The first part of scatters of many updates.

use super::gather_nd::GatherNd;
use super::indices::{check_constant, expect_indices};
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, display_dim, product, sym, tensor};
use pumice_types::{DType, DimExpr};

/// The place of an update that goes nowhere.
pub const NOWHERE: i64 = i32::MAX as i64;

crate::op! {
    /// For each update of a scatter into data of these extents, in row-major order, the place that its indices mean: of
    /// `ScatterElements` with `elements`, an element; else of `ScatterNd`, a slice. 2³¹ − 1 where an index is outside,
    /// which reports INDEX_OUT_OF_RANGE if there is an element.
    pub struct ScatterPlaces {
        /// Extents of the data.
        extents: Vec<DimExpr>,
        /// Whether every update has an index along an axis, not a tuple.
        elements: bool = false,
        /// That axis.
        axis: i64 = 0,
    }
}

impl ScatterPlaces {
    /// How many axes a tuple indexes.
    ///
    /// # Errors
    /// As [`GatherNd::axes`].
    pub fn tuple(&self, indices: &ValueType) -> Result<usize, OpError> {
        let data = ValueType::new(DType::F32, self.extents.clone());
        Ok(GatherNd { batch_dims: 0 }.axes(&data, indices)?.tuple)
    }
}

impl OpDef for ScatterPlaces {
    const OPERANDS: &'static [&'static str] = &["indices"];
    const GRAD: Grad<Self> = Grad::Zero;
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let indices = expect_indices(cx, 0)?;
        // They are of no result, of which negative ones would be refused.
        if let Some(extent) = self.extents.iter().find(|extent| extent.bounds(cx.symbols()).1 < 0) {
            let reason = format!("{} is negative", display_dim(extent, cx.symbols()));
            return Err(AttrError::Value { name: "extents", reason }.into());
        }
        cx.not_negative(&self.extents)?;
        let rank = self.extents.len();
        if !self.elements {
            let tuple = self.tuple(indices)?;
            check_constant(cx, 0, &self.extents[..tuple])?;
            return one(DType::I32, [product(&indices.shape[..indices.rank() - 1])]);
        }
        let axis = cx.axis(self.axis, rank)?;
        cx.expect_rank(0, rank)?;
        for (a, (own, of_data)) in indices.shape.iter().zip(&self.extents).enumerate() {
            if a != axis {
                cx.at_most(own, of_data, "extent of the indices off the axis")?;
            }
        }
        check_constant(cx, 0, &self.extents[axis..=axis])?;
        one(DType::I32, [product(&indices.shape)])
    }

    fn samples() -> Vec<Sample> {
        let of = |data: &[u64], axis: Option<i64>| {
            let extents = data.iter().map(|&d| d.into()).collect();
            ScatterPlaces { extents, elements: axis.is_some(), axis: axis.unwrap_or(0) }
        };
        let case = |data: &[u64], index: DType, idx: &[u64], axis: Option<i64>, fill: Fill| {
            Sample::graph(&format!("{data:?} by {index} {idx:?} {axis:?}"), |g| {
                let i = g.input("indices", tensor(index, idx.iter().copied()));
                g.output("y", g.scatter_places(i, of(data, axis)));
            })
            .fill("indices", fill)
        };
        let (i32, i64) = (DType::I32, DType::I64);
        let mut samples = vec![
            case(&[7], i32, &[5], Some(0), Fill::Range(-7, 7)),
            case(&[5, 7, 3], i64, &[2, 300, 3], Some(1), Fill::Range(-7, 7)),
            case(&[5, 7, 3], i32, &[5, 7, 2], Some(-3), Fill::Range(-5, 5)),
            case(&[5, 7, 3], i32, &[5, 0, 2], Some(1), Fill::Any),
            case(&[1, 2, 1, 3, 2, 5, 2, 2], i64, &[1, 2, 1, 3, 2, 4, 1, 2], Some(5), Fill::Range(-5, 5)),
            case(&[7, 3], i32, &[700, 1], None, Fill::Range(-7, 7)),
            case(&[3, 4, 3], i64, &[5, 6, 2], None, Fill::Range(-3, 3)),
            case(&[2, 2, 2, 2, 2, 2, 2, 2], i32, &[9, 8], None, Fill::Range(-2, 2)),
            case(&[0, 3], i32, &[4, 1], None, Fill::Any),
            case(&[7, 3], i32, &[3, 2], None, Fill::Ints(vec![6, 2, 7, 1, -8, -4])).expect_status(),
        ];
        let outside = |i: i64| !(-5..5).contains(&i);
        for axis in [Some(0), None] {
            let build = |g: &GraphBuilder, i: Value, shape: &[i64]| {
                g.output("y", g.scatter_places(g.reshape(i, shape), of(&[5], axis)));
            };
            let (one, seven): (&[i64], &[i64]) =
                if axis.is_some() { (&[1], &[7]) } else { (&[1, 1], &[7, 1]) };
            samples.extend(steering_samples(&format!("a place along {axis:?}"), 5, outside, |g, i| {
                build(g, i, one)
            }));
            for index in [i32, i64] {
                samples.push(
                    steering_list(&format!("places along {axis:?}"), index, 5, &[7], |g, i| {
                        build(g, i, seven)
                    })
                    .expect_status(),
                );
            }
        }
        samples.extend([0, 1, 9].map(|m| {
            let sample = Sample::graph(&format!("symbolic, {m} of 9"), |g| {
                let x = g.input("data", tensor(DType::F32, [sym("n", 4..=20), 5.into()]));
                let i = g.input("indices", tensor(i32, [sym("m", 0..=9), 2.into()]));
                let extents = vec![g.dim_of(x, 0), 5.into()];
                g.output("y", g.scatter_places(i, ScatterPlaces { extents, elements: false, axis: 0 }));
                g.output("x", x);
            });
            sample.fill("indices", Fill::Range(-4, 4)).bind("n", 9).bind("m", m)
        }));
        samples
    }
}

impl GraphBuilder {
    /// Where updates go: indices i32 or i64 → i32 of as many as there are.
    #[track_caller]
    pub fn scatter_places(&self, indices: Value, op: ScatterPlaces) -> Value {
        self.apply(op, &[indices])
    }
}
