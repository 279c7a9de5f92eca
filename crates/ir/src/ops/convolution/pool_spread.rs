//! `PoolSpread`: values of windows, gathered where windows are over. Gradients of pools are that.

use super::pool::Pool;
use super::pool_grad::Windows;
use super::windows::spatial_rank;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef, SumPool};
use crate::sample::Sample;
use crate::shape::product;
use pumice_types::{DType, DimExpr, WindowAxis};

crate::op! {
    /// x\[n\] = Σ v\[q\] over the windows q a tap of which is at n: v\[B, C, positions…\] → \[B, C, `extents`…\], f32.
    /// With `mean` each v\[q\] is first divided by the elements under its window, with `count_include_pad` by its taps
    /// inside and in pads, as `average_pool` divides. With places (i32 of v's extents, as `pool_places` gives them)
    /// only windows with the place n count, and no other has influence, NaN and infinity included. Where no window is
    /// over an element it is 0.
    pub struct PoolSpread {
        /// Taps of the window, one number for each spatial axis.
        kernel: Vec<u64> = Vec::new() => POSITIVE,
        /// Elements between positions, for each spatial axis; ones if empty.
        strides: Vec<u64> = Vec::new() => POSITIVE,
        /// Pads before each spatial axis, then pads after each; none if empty.
        pads: Vec<u64> = Vec::new() => ANY,
        /// Elements between taps, for each spatial axis; ones if empty.
        dilations: Vec<u64> = Vec::new() => POSITIVE,
        /// Whether a last window that ends after the end pad counts, if it begins before that pad.
        ceil_mode: bool = false,
        /// Spatial extents of the result, over which a pool with these lists has v's positions.
        extents: Vec<DimExpr>,
        /// Whether v is divided by what counts under its window.
        mean: bool = false,
        /// Whether taps in pads count.
        count_include_pad: bool = false,
    }
}

impl Default for PoolSpread {
    fn default() -> PoolSpread {
        PoolSpread::of(Pool::default(), Vec::new())
    }
}

impl PoolSpread {
    /// A sum with the lists of a pool.
    pub(super) fn of(pool: Pool, extents: Vec<DimExpr>) -> PoolSpread {
        let Pool { kernel, strides, pads, dilations, ceil_mode } = pool;
        let (mean, count_include_pad) = (false, false);
        PoolSpread { kernel, strides, pads, dilations, ceil_mode, extents, mean, count_include_pad }
    }

    fn pool(&self) -> Pool {
        Pool {
            kernel: self.kernel.clone(),
            strides: self.strides.clone(),
            pads: self.pads.clone(),
            dilations: self.dilations.clone(),
            ceil_mode: self.ceil_mode,
        }
    }

    /// The window on each of so many spatial axes.
    ///
    /// # Errors
    /// A list is not as long as there are axes (pads: twice that), or a pad is as large as the window.
    pub fn windows(&self, spatial: usize) -> Result<Vec<WindowAxis>, OpError> {
        self.pool().windows(spatial)
    }

    /// The extents of the result.
    fn shape(&self, cx: &Infer<'_>) -> Result<Vec<DimExpr>, OpError> {
        let spatial = spatial_rank(cx, 0)?;
        if self.extents.len() != spatial {
            let reason = format!("it has {} numbers, and must have {spatial}", self.extents.len());
            return Err(AttrError::Value { name: "extents", reason }.into());
        }
        cx.not_negative(&self.extents)?;
        Ok(cx.ty(0)?.shape[..2].iter().chain(&self.extents).cloned().collect())
    }

    /// The rule of places, which are a number for each element of v.
    fn expect_places(&self, cx: &Infer<'_>, v: &[DimExpr]) -> Result<(), OpError> {
        cx.expect_dtype(1, &[DType::I32])?;
        cx.expect_rank(1, v.len())?;
        for (axis, (own, given)) in v.iter().zip(cx.ty(1)?.shape.iter()).enumerate() {
            cx.equal(given, own, &format!("axis {axis} of `places` and `v`"))?;
        }
        let most = DimExpr::constant(i64::from(i32::MAX));
        cx.at_most(&product(&self.extents), &most, "the places of a channel")?;
        if self.mean {
            let reason = "what goes to places is not divided".to_owned();
            return Err(AttrError::Value { name: "mean", reason }.into());
        }
        Ok(())
    }
}

impl OpDef for PoolSpread {
    const OPERANDS: &'static [&'static str] = &["v", "places?"];
    const STEERS: &'static [&'static str] = &["places"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::F32])?;
        let x = self.shape(cx)?;
        let (positions, v) = (self.pool().shape(cx, &x)?, &cx.ty(0)?.shape);
        for (axis, (own, given)) in positions.iter().zip(v.iter()).enumerate().skip(2) {
            cx.equal(given, own, &format!("axis {axis} of `v` and the positions over `extents`"))?;
        }
        if cx.opt(1).is_some() {
            self.expect_places(cx, v)?;
        }
        one(DType::F32, x)
    }

    fn samples() -> Vec<Sample> {
        super::pool_spread_samples::samples()
    }
}

/// dv\[q\] = Σ u\[n\] over the elements under q, over q's divisor; or u at q's place.
fn rule(op: &PoolSpread, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (pool, u) = (op.pool(), cx.dy());
    let windows = Windows::new(pool.clone(), cx.shape(cx.y(0)), cx.shape(cx.x(0)))?;
    Ok(vec![cx.wanted(0, || match cx.opt(1) {
        Some(places) => windows.at_places(cx.g, u, places),
        None => {
            let Pool { kernel, strides, pads, dilations, ceil_mode } = pool;
            let sum = cx.g.sum_pool(u, SumPool { kernel, strides, pads, dilations, ceil_mode });
            if op.mean { windows.divided(cx.g, sum, op.count_include_pad) } else { sum }
        }
    })])
}

impl GraphBuilder {
    /// The values of windows, gathered where these are over: v\[B, C, positions…\], i32 places of v's extents →
    /// \[B, C, `extents`…\]. Errors as of [`PoolSpread`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::PoolSpread;
    /// let g = GraphBuilder::new("g");
    /// let v = g.input("v", f32([1, 3, 7, 7]));
    /// let extents = vec![8.into(), 8.into()];
    /// let op = PoolSpread { kernel: vec![2, 2], extents, mean: true, ..PoolSpread::default() };
    /// g.output("x", g.pool_spread(v, None, op));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn pool_spread(&self, v: Value, places: Option<Value>, op: PoolSpread) -> Value {
        self.apply_all(op, &[Some(v), places])[0]
    }
}
