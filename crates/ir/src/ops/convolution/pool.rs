//! What pools share: their type rule, and the macro that declares one.

use super::windows::{Lists, decided, require_fit, spatial_rank};
use crate::attr::AttrError;
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use pumice_types::{DType, DimExpr, WindowAxis};

/// The lists of a pool, and whether its last windows may end after the padded extent.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Taps of the window, for each spatial axis.
    pub kernel: Vec<u64>,
    /// Elements between positions; ones if empty.
    pub strides: Vec<u64>,
    /// Pads before each spatial axis, then after each; none if empty.
    pub pads: Vec<u64>,
    /// Elements between taps; ones if empty.
    pub dilations: Vec<u64>,
    /// Whether a last window that ends after the end pad counts.
    pub ceil_mode: bool,
}

impl Pool {
    /// The window on each of so many spatial axes. A window is larger than each of its pads, so that it is never wholly
    /// in one.
    pub fn windows(&self, spatial: usize) -> Result<Vec<WindowAxis>, OpError> {
        match self.kernel.len() {
            0 => return Err(AttrError::Missing("kernel").into()),
            given if given != spatial => {
                let reason = format!("it has {given} numbers, and must have {spatial}");
                return Err(AttrError::Value { name: "kernel", reason }.into());
            }
            _ => {}
        }
        let lists = Lists { strides: &self.strides, dilations: &self.dilations, pads: &self.pads };
        let windows = lists.axes(&self.kernel)?;
        match windows.iter().find(|w| w.begin.max(w.end) >= w.reach()) {
            None => Ok(windows),
            Some(w) => {
                let (pad, reach) = (w.begin.max(w.end), w.reach());
                let reason = format!("a window over {reach} elements would see nothing but a pad of {pad}");
                Err(AttrError::Value { name: "pads", reason }.into())
            }
        }
    }

    /// Type rule of a pool.
    pub(crate) fn infer(&self, cx: &Infer<'_>, dtypes: &[DType]) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, dtypes)?;
        spatial_rank(cx, 0)?;
        one(dtype, self.shape(cx, &cx.ty(0)?.shape)?)
    }

    /// The extents of a pool of x.
    pub(super) fn shape(&self, cx: &Infer<'_>, x: &[DimExpr]) -> Result<Vec<DimExpr>, OpError> {
        let windows = self.windows(x.len() - 2)?;
        require_fit(cx, x, &windows)?;
        let of = |(extent, window): (_, &WindowAxis)| match self.ceil_mode {
            true => window.positions_ceil(extent),
            false => window.positions(extent),
        };
        let positions = x[2..].iter().zip(&windows).map(|axis| decided(of(axis), cx.symbols()));
        Ok(x[..2].iter().cloned().chain(positions).collect())
    }
}

/// Declares a pool: its type and method, its dtypes, the fill of its samples, attributes of its own with their
/// defaults.
macro_rules! pool {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:expr, $fill:expr
        $(, { $(#[$fdoc:meta])* $field:ident: $ty:ty = $default:expr })?, more $more:expr, grad $grad:expr) => {
        $crate::op! {
            $(#[$doc])*
            pub struct $Name {
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
                $($(#[$fdoc])* $field: $ty = $default,)?
            }
        }

        impl Default for $Name {
            fn default() -> $Name {
                $Name {
                    kernel: Vec::new(),
                    strides: Vec::new(),
                    pads: Vec::new(),
                    dilations: Vec::new(),
                    ceil_mode: false,
                    $($field: $default,)?
                }
            }
        }

        impl $Name {
            pub(super) fn pool(&self) -> $crate::ops::convolution::pool::Pool {
                $crate::ops::convolution::pool::Pool {
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
            pub fn windows(&self, spatial: usize) -> Result<Vec<pumice_types::WindowAxis>, $crate::error::OpError> {
                self.pool().windows(spatial)
            }
        }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            const GRAD: $crate::ops::Grad<Self> = $grad;

            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                self.pool().infer(cx, $dtypes)
            }

            fn samples() -> Vec<$crate::sample::Sample> {
                let apply = |g: &$crate::builder::GraphBuilder, x, pool: $crate::ops::convolution::pool::Pool| {
                    let op = $Name {
                        kernel: pool.kernel,
                        strides: pool.strides,
                        pads: pool.pads,
                        dilations: pool.dilations,
                        ceil_mode: pool.ceil_mode,
                        $($field: $default,)?
                    };
                    g.$method(x, op)
                };
                let mut samples = $crate::ops::convolution::pool_samples::pool_samples($dtypes, &$fill, apply);
                samples.extend($more);
                samples
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, x: $crate::builder::Value, op: $Name) -> $crate::builder::Value {
                self.apply(op, &[x])
            }
        }
    };
}
pub(crate) use pool;
