//! `ConvTranspose`: every element spreads a window of weights over one to three spatial axes.

use super::windows::{Lists, decided, expect_bias, filled, kernel_of_weights, of_group, spatial_rank};
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef, Rounding};
use crate::sample::Sample;
use pumice_types::{DimExpr, WindowAxis};

crate::op! {
    /// y\[b, o, p\] = bias\[o\] + Σ x\[b, c, i\]·w\[c, o, t\] over the taps t of the kernel and the channels c of o's
    /// group, where i·stride = p + begin − t·dilation (ONNX ConvTranspose): x\[B, Cin, spatial…\], w\[Cin, Cout/groups,
    /// kernel…\], bias\[Cout\] → \[B, Cout, (extent − 1)·stride + (kernel − 1)·dilation + 1 + output_padding − begin −
    /// end…\] with 1 to 3 spatial axes. A tap of which the stride leaves a remainder is none: where no other is, there
    /// is the bias alone. x is 0 outside, and a tap there multiplies it: an infinite or NaN weight gives NaN. Pads that
    /// are larger than the result are refused, where symbols decide when they are bound.
    pub struct ConvTranspose {
        /// Elements of the result between elements of x, for each spatial axis; ones if empty.
        strides: Vec<u64> = Vec::new() => POSITIVE,
        /// Elements cut off before each spatial axis, then elements cut off after each; none if empty.
        pads: Vec<u64> = Vec::new() => ANY,
        /// Elements between taps, for each spatial axis; ones if empty.
        dilations: Vec<u64> = Vec::new() => POSITIVE,
        /// Parts into which channels fall: a result sees the operand's channels of its own part.
        groups: u64 = 1 => POSITIVE,
        /// Elements of the result after the last window, fewer than the stride or the dilation, for each spatial axis;
        /// none if empty.
        output_padding: Vec<u64> = Vec::new() => ANY,
        /// Spatial extents of the result: `pads` do not count then, what is too much is cut off at both ends; empty,
        /// the extents follow from the pads.
        output_shape: Vec<u64> = Vec::new() => ANY,
        /// Whether of an odd number of elements too many the end loses one more (SAME_UPPER); else the beginning does.
        cut_end: bool = false,
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
    }
}

impl Default for ConvTranspose {
    fn default() -> ConvTranspose {
        ConvTranspose {
            strides: Vec::new(),
            pads: Vec::new(),
            dilations: Vec::new(),
            groups: 1,
            output_padding: Vec::new(),
            output_shape: Vec::new(),
            cut_end: false,
            rounding: Rounding::None,
        }
    }
}

/// One spatial axis of a transposed convolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The window, with the pads of the attribute.
    pub window: WindowAxis,
    /// The extent over which windows are spread.
    pub whole: DimExpr,
    /// Elements of it that are cut off before the result.
    pub begin: DimExpr,
    /// The extent of the result.
    pub extent: DimExpr,
}

impl ConvTranspose {
    /// The spatial axes, for weights with that kernel over these spatial extents.
    ///
    /// # Errors
    /// A list is neither empty nor as long as there are axes (pads: twice that), or the output padding is too large.
    pub fn axes(&self, kernel: &[u64], extents: &[DimExpr]) -> Result<Vec<Spread>, OpError> {
        let lists = Lists { strides: &self.strides, dilations: &self.dilations, pads: &self.pads };
        let windows = lists.axes(kernel)?;
        let more = filled("output_padding", &self.output_padding, kernel.len(), 0)?;
        filled("output_shape", &self.output_shape, kernel.len(), 0)?;
        output_padding_fits(&more, &windows)?;
        let axis = |(i, window): (usize, WindowAxis)| self.spread(window, &extents[i], more[i], i);
        Ok(windows.into_iter().enumerate().map(axis).collect())
    }

    /// Spatial axis `i`, of that extent, with so much output padding.
    fn spread(&self, window: WindowAxis, extent: &DimExpr, more: u64, i: usize) -> Spread {
        let whole = window.spread_padded(extent, more);
        let Some(&given) = self.output_shape.get(i) else {
            let (begin, extent) = (DimExpr::from(window.begin), window.spread(extent, more));
            return Spread { window, whole, begin, extent };
        };
        let (extent, half) = (DimExpr::from(given), DimExpr::constant(2));
        let surplus = whole.clone() - extent.clone();
        let begin = if self.cut_end { surplus.floor_div(&half) } else { surplus.ceil_div(&half) };
        Spread { window, whole, begin, extent }
    }

    /// Axis `i` of x, of that extent, is not cut shorter than it is spread.
    fn expect_spread(&self, cx: &Infer<'_>, i: usize, axis: &Spread, x: &DimExpr) -> Result<(), OpError> {
        let Spread { window, whole, extent, .. } = axis;
        let more = self.output_padding.get(i - 2).copied().unwrap_or(0);
        let of_none = window.spread_padded(&DimExpr::constant(0), more);
        if of_none.as_const().is_some_and(|n| n < 0) {
            cx.at_most(&DimExpr::constant(1), x, &format!("axis {i} of `x` must not be empty"))?;
        }
        if !self.output_shape.is_empty() {
            return cx.at_most(extent, whole, &format!("`output_shape` and what windows fill of axis {i}"));
        }
        let pads = DimExpr::from(window.begin.saturating_add(window.end));
        cx.at_most(&pads, whole, &format!("the pads and what they are cut off of axis {i}"))
    }
}

/// What is added to the result is less than what one more element would.
fn output_padding_fits(more: &[u64], windows: &[WindowAxis]) -> Result<(), OpError> {
    let mut axes = more.iter().zip(windows);
    let Some((more, w)) = axes.find(|(more, w)| **more >= w.stride.max(w.dilation)) else { return Ok(()) };
    let most = w.stride.max(w.dilation) - 1;
    let reason = format!("it is {more} where stride and dilation allow at most {most}");
    Err(AttrError::Value { name: "output_padding", reason }.into())
}

impl OpDef for ConvTranspose {
    const OPERANDS: &'static [&'static str] = &["x", "w", "bias?"];
    const GRAD: Grad<Self> = Grad::Rule(super::conv_transpose_grad::rule);
    crate::rounds_factors!(2);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        let spatial = spatial_rank(cx, 0)?;
        let (x, w) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
        let kernel = kernel_of_weights(cx, 1, spatial)?;
        let axes = self.axes(&kernel, &x[2..])?;
        cx.equal(&x[1], &w[0], "the channels, axis 1 of `x` and axis 0 of `w`")?;
        of_group(cx, &w[0], self.groups, "the channels of `w`")?;
        let channels = &w[1] * self.groups;
        expect_bias(cx, 2, &channels)?;
        for (i, (axis, x)) in (2..).zip(axes.iter().zip(&x[2..])) {
            self.expect_spread(cx, i, axis, x)?;
        }
        let extents = axes.into_iter().map(|axis| decided(axis.extent, cx.symbols()));
        one(dtype, [x[0].clone(), channels].into_iter().chain(extents).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        super::conv_transpose_samples::samples()
    }
}

impl GraphBuilder {
    /// A transposed convolution: x\[B, Cin, spatial…\], w\[Cin, Cout/groups, kernel…\], bias\[Cout\] → \[B, Cout, …\].
    #[track_caller]
    pub fn conv_transpose(&self, x: Value, w: Value, bias: Option<Value>, op: ConvTranspose) -> Value {
        self.apply_all(op, &[Some(x), Some(w), bias])[0]
    }
}
