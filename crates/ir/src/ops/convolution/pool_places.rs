//! `PoolPlaces`: where the first of the largest elements under a window is. Gradients of pools go there.

use super::pool::Pool;
use super::pool_samples::{pool_samples, small_cases};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::product;
use pumice_types::{DType, DimExpr, WindowAxis};

crate::op! {
    /// Where the first of the largest (with `smallest`: smallest) elements under a window is, counted over the spatial
    /// axes in row-major order: x\[B, C, spatial…\] → i32\[B, C, positions…\], with one to three spatial axes. The
    /// first NaN wins, −0 and 0 are equal. Pads are not looked at; of a window that sees no element it is −1.
    pub struct PoolPlaces {
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
        /// Whether the smallest element is meant.
        smallest: bool = false,
    }
}

impl Default for PoolPlaces {
    fn default() -> PoolPlaces {
        PoolPlaces::of(Pool::default(), false)
    }
}

impl PoolPlaces {
    /// With the lists of a pool.
    pub(super) fn of(pool: Pool, smallest: bool) -> PoolPlaces {
        let Pool { kernel, strides, pads, dilations, ceil_mode } = pool;
        PoolPlaces { kernel, strides, pads, dilations, ceil_mode, smallest }
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
}

impl OpDef for PoolPlaces {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let types = self.pool().infer(cx, FLOATS)?;
        let most = DimExpr::constant(i64::from(i32::MAX));
        cx.at_most(&product(&cx.ty(0)?.shape[2..]), &most, "the places of a channel")?;
        one(DType::I32, types[0].shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let of = |smallest| move |g: &GraphBuilder, x, pool| g.pool_places(x, PoolPlaces::of(pool, smallest));
        let mut samples = pool_samples(FLOATS, &Fill::Special, of(false));
        samples.extend(small_cases("smallest", &Fill::Special, of(true)));
        // Of four numbers many are equal, and zeros of both signs are.
        let few = Fill::Floats(vec![0.5, -0.0, 2.0, 0.0, 2.0, -1.0, -0.0]);
        samples.extend(small_cases("equal", &few, of(false)));
        samples.extend(small_cases("equal, smallest", &few, of(true)));
        samples
    }
}

impl GraphBuilder {
    /// Where the first of the largest or smallest elements under a window is: x\[B, C, spatial…\] → i32\[B, C,
    /// positions…\]. Errors as of [`PoolPlaces`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::PoolPlaces;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([1, 3, 8, 8]));
    /// g.output("at", g.pool_places(x, PoolPlaces { kernel: vec![2, 2], ..PoolPlaces::default() }));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn pool_places(&self, x: Value, op: PoolPlaces) -> Value {
        self.apply(op, &[x])
    }
}
