//! `Conv`: a window of weights slides over one to three spatial axes.

use super::windows::{Lists, decided, expect_bias, kernel_of_weights, of_group, require_fit, spatial_rank};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef, Rounding};
use crate::sample::Sample;
use pumice_types::{DimExpr, WindowAxis};

crate::op! {
    /// y\[b, o, p\] = bias\[o\] + Σ x\[b, c, p·stride − begin + t·dilation\]·w\[o, c, t\] over the taps t of the kernel
    /// and the channels c of o's group (ONNX Conv): x\[B, Cin, spatial…\], w\[Cout, Cin/groups, kernel…\], bias\[Cout\]
    /// → \[B, Cout, positions…\] with 1 to 3 spatial axes. x is 0 outside, and a tap there multiplies it: an infinite
    /// or NaN weight gives NaN. Positions are ⌊(padded − (kernel − 1)·dilation − 1)/stride⌋ + 1; a window larger than
    /// the padded extent is refused, where symbols decide when they are bound. No batch gives no result, no channel the
    /// bias. f32, f16 or bf16, one for all operands; the kernel's extents are constants, batch, channels and the
    /// extents of x may be symbols. Pads are numbers: what others call SAME is the caller's sum, at stride 1
    /// (kernel − 1)·dilation in all, half of it before.
    pub struct Conv {
        /// Elements between positions, for each spatial axis; ones if empty.
        strides: Vec<u64> = Vec::new() => POSITIVE,
        /// Zeros before each spatial axis, then zeros after each; none if empty.
        pads: Vec<u64> = Vec::new() => ANY,
        /// Elements between taps, for each spatial axis; ones if empty.
        dilations: Vec<u64> = Vec::new() => POSITIVE,
        /// Parts into which channels fall: a result sees the operand's channels of its own part.
        groups: u64 = 1 => POSITIVE,
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
    }
}

impl Default for Conv {
    fn default() -> Conv {
        Conv {
            strides: Vec::new(),
            pads: Vec::new(),
            dilations: Vec::new(),
            groups: 1,
            rounding: Rounding::None,
        }
    }
}

impl Conv {
    /// The window on each spatial axis, for weights with that kernel.
    ///
    /// # Errors
    /// A list is neither empty nor as long as there are axes (pads: twice that).
    pub fn windows(&self, kernel: &[u64]) -> Result<Vec<WindowAxis>, OpError> {
        Lists { strides: &self.strides, dilations: &self.dilations, pads: &self.pads }.axes(kernel)
    }

    /// Every channel of x is in a group, and of each group weights have as many.
    fn expect_channels(&self, cx: &Infer<'_>, x: &DimExpr, w: &DimExpr) -> Result<(), OpError> {
        if self.groups == 1 {
            return cx.equal(x, w, "the channels, axis 1 of `x` and axis 1 of `w`");
        }
        let groups = self.groups;
        if x.as_const().is_some() {
            of_group(cx, x, groups, "the channels of `x`")?;
        }
        match x.exact_quotient(&DimExpr::from(groups)) {
            Some(own) => {
                let what = format!("the channels in each of {groups} groups of `x` and axis 1 of `w`");
                cx.equal(&own, w, &what)
            }
            // Whether symbols make whole groups is known when they are bound.
            None => {
                let what = format!("the channels, axis 1 of `x` and {groups} times axis 1 of `w`");
                cx.equal(x, &(w * groups), &what)
            }
        }
    }
}

impl OpDef for Conv {
    const OPERANDS: &'static [&'static str] = &["x", "w", "bias?"];
    const GRAD: Grad<Self> = Grad::Rule(super::conv_grad::rule);
    crate::rounds_factors!(2);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        let spatial = spatial_rank(cx, 0)?;
        let windows = self.windows(&kernel_of_weights(cx, 1, spatial)?)?;
        let (x, w) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
        self.expect_channels(cx, &x[1], &w[1])?;
        of_group(cx, &w[0], self.groups, "the channels of the result")?;
        expect_bias(cx, 2, &w[0])?;
        require_fit(cx, x, &windows)?;
        let of = |(extent, window): (_, &WindowAxis)| decided(window.positions(extent), cx.symbols());
        let positions = x[2..].iter().zip(&windows).map(of);
        one(dtype, [x[0].clone(), w[0].clone()].into_iter().chain(positions).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        super::conv_samples::samples()
    }
}

impl GraphBuilder {
    /// A convolution: x\[B, Cin, spatial…\], w\[Cout, Cin/groups, kernel…\], bias\[Cout\] → \[B, Cout, positions…\].
    ///
    /// Mistakes, told by [`GraphBuilder::build`]: an x without one to three spatial axes, operands of other ranks or
    /// several dtypes, channels that do not go together or make no whole groups, lists of other lengths than there are
    /// axes (pads: twice that), and windows larger than every padded extent that symbols allow. Where only some are too
    /// small, the run that has one is refused.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::Conv;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("b", 1..=8), 3.into(), sym("h", 3..=64), 32.into()]));
    /// let op = Conv { pads: vec![1; 4], strides: vec![2, 2], ..Conv::default() };
    /// g.output("y", g.conv(x, g.param("w", f32([16, 3, 3, 3])), None, op));
    /// assert_eq!(g.build()?.constraints(), []);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn conv(&self, x: Value, w: Value, bias: Option<Value>, op: Conv) -> Value {
        self.apply_all(op, &[Some(x), Some(w), bias])[0]
    }
}
