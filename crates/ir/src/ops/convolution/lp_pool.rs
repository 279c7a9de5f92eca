//! Norms of the elements under a window, and of whole channels, as compositions.

use super::sum_pool::SumPool;
use crate::attr::{AttrError, CountRange};
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::convolution::pool::Pool;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Op, PowScalar, ReduceSum, Sqrt};
use pumice_types::DType;

/// Attributes of [`GraphBuilder::lp_pool`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LpPool {
    /// Taps of the window, one number for each spatial axis.
    pub kernel: Vec<u64>,
    /// Elements between positions, for each spatial axis; ones if empty.
    pub strides: Vec<u64>,
    /// Pads before each spatial axis, then pads after each; none if empty.
    pub pads: Vec<u64>,
    /// Elements between taps, for each spatial axis; ones if empty.
    pub dilations: Vec<u64>,
    /// Whether a last window that ends after the end pad counts, if it begins before that pad.
    pub ceil_mode: bool,
    /// The power, at least 1.
    pub p: u64,
}

impl Default for LpPool {
    fn default() -> LpPool {
        let (kernel, strides, pads, dilations) = Default::default();
        LpPool { kernel, strides, pads, dilations, ceil_mode: false, p: 2 }
    }
}

impl GraphBuilder {
    /// (Σ|x|ᵖ)^(1/p) under a window that slides over one to three spatial axes (ONNX LpPool): x\[B, C, spatial…\] →
    /// \[B, C, positions…\]. Pads add nothing. Floats; 16-bit ones are computed in f32 and rounded once. Nothing is
    /// scaled: where |x|ᵖ is beyond f32 the result is infinite.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::lp_pool::LpPool;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([1, 3, 8, 8]));
    /// g.output("y", g.lp_pool(x, LpPool { kernel: vec![2, 2], p: 3, ..LpPool::default() }));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn lp_pool(&self, x: Value, op: LpPool) -> Value {
        let LpPool { kernel, strides, pads, dilations, ceil_mode, p } = op;
        let pool = Pool { kernel, strides, pads, dilations, ceil_mode };
        let checked = self.checked_operands("lp_pool", &["x"], &[x], |cx| {
            pool.infer(cx, FLOATS)?;
            expect_power(p)
        });
        let dtype = match checked {
            Ok(types) => types[0].dtype(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("lp_pool");
        let powers = g.power(g.widened(x, dtype), p);
        let Pool { kernel, strides, pads, dilations, ceil_mode } = pool;
        g.rooted(SumPool { kernel, strides, pads, dilations, ceil_mode }, powers, p, dtype)
    }

    /// (Σ|x|ᵖ)^(1/p) over all spatial axes (ONNX GlobalLpPool): x\[B, C, spatial…\] → \[B, C, 1…\], p at least 1. As
    /// [`GraphBuilder::lp_pool`]; 0 over no elements.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.global_lp_pool(g.input("x", f32([1, 3, 8, 8])), 2));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn global_lp_pool(&self, x: Value, p: u64) -> Value {
        let checked = self.checked_operands("global_lp_pool", &["x"], &[x], |cx| {
            cx.expect_dtype(0, FLOATS)?;
            expect_spatial(cx)?;
            expect_power(p)
        });
        let (dtype, rank) = match checked {
            Ok(types) => (types[0].dtype(), types[0].rank() as i64),
            Err(mistake) => return mistake,
        };
        let g = self.composition("global_lp_pool");
        let powers = g.power(g.widened(x, dtype), p);
        let op = ReduceSum { axes: (2..rank).collect(), keepdims: true, noop_with_empty_axes: false };
        g.rooted(op, powers, p, dtype)
    }
}

fn expect_power(p: u64) -> Result<(), OpError> {
    match CountRange::POSITIVE.refusal(p) {
        None => Ok(()),
        Some(reason) => Err(AttrError::Value { name: "p", reason }.into()),
    }
}

/// Errors unless there are batch, channels and a spatial axis.
pub(super) fn expect_spatial(cx: &Infer<'_>) -> Result<(), OpError> {
    let rank = cx.ty(0)?.rank();
    if rank >= 3 {
        return Ok(());
    }
    let expected = "expected batch, channels and at least one spatial axis".to_owned();
    Err(OpError::Rank { operand: cx.name(0), rank, expected })
}

impl Composition {
    /// The end: the root of this sum of powers.
    #[track_caller]
    fn rooted(self, sum: impl Into<Op>, powers: Value, p: u64, dtype: DType) -> Value {
        match root(p) {
            None => self.finish(sum, &[powers], dtype, &[]),
            Some(root) => {
                let sum = self.apply(sum, &[powers]);
                self.root_of_powers(root, sum, dtype, &[])
            }
        }
    }

    /// |x|ᵖ.
    #[track_caller]
    fn power(&self, x: Value, p: u64) -> Value {
        match p {
            1 => self.abs(x),
            2 => self.square(x),
            _ => self.apply(PowScalar { exponent: p as f32 }, &[self.abs(x)]),
        }
    }
}

/// What ends a sum of powers.
fn root(p: u64) -> Option<Op> {
    match p {
        1 => None,
        2 => Some(Sqrt {}.into()),
        _ => Some(PowScalar { exponent: (1.0 / p as f64) as f32 }.into()),
    }
}
