//! Convolutions and pools: windows over spatial axes.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::Value;
use pumice_ir::ops::average_pool::AveragePool;
use pumice_ir::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::conv_transpose::ConvTranspose;
use pumice_ir::ops::im2col::{Im2Col, Im2ColLayout};
use pumice_ir::ops::lp_pool::LpPool;
use pumice_ir::ops::max_pool::MaxPool;

pub(super) const RULES: &[Rule] = &[
    rule("Conv", 1, conv),
    rule("ConvTranspose", 1, conv_transpose),
    rule("AveragePool", 7, average_pool),
    rule("MaxPool", 1, max_pool),
    rule("LpPool", 2, lp_pool),
    rule("GlobalAveragePool", 1, |c| {
        let x = c.x(0)?;
        one(c.g.global_average_pool(x))
    }),
    rule("GlobalMaxPool", 1, |c| {
        let x = c.x(0)?;
        one(c.g.global_max_pool(x))
    }),
    rule("GlobalLpPool", 2, |c| {
        let (x, p) = (c.x(0)?, c.whole("p", 2)?);
        one(c.g.global_lp_pool(x, p))
    }),
    rule("Col2Im", 18, col2im),
    rule("CausalConvWithState", 27, causal_conv),
];

/// How pads follow from the extents.
#[derive(Clone, Copy, PartialEq)]
enum AutoPad {
    /// They are given.
    NotSet,
    /// There are none.
    Valid,
    /// Results of ⌈extent/stride⌉; of an odd number of pads the end has one more.
    Upper,
    /// The beginning has one more.
    Lower,
}

const AUTO_PADS: [(&str, AutoPad); 4] = [
    ("NOTSET", AutoPad::NotSet),
    ("VALID", AutoPad::Valid),
    ("SAME_UPPER", AutoPad::Upper),
    ("SAME_LOWER", AutoPad::Lower),
];

/// What every window op says.
struct Window {
    kernel: Vec<u64>,
    strides: Vec<u64>,
    pads: Vec<u64>,
    dilations: Vec<u64>,
    auto: AutoPad,
}

impl Window {
    /// The window of a convolution whose taps are the weight's, or of a pool, which names them.
    fn read(c: &mut Call<'_>, x: Value, weight: Option<Value>) -> Result<Window, OnnxError> {
        let mut kernel = c.wholes("kernel_shape")?;
        if let Some(weight) = weight {
            let taps = c.extents(weight)?.split_off(2.min(c.ty(weight)?.rank()));
            if !kernel.is_empty() && kernel != taps {
                return Err(c.wrong("kernel_shape", format!("is {kernel:?}, the weight has {taps:?}")));
            }
            kernel = taps;
        }
        let (strides, dilations) = (c.wholes("strides")?, c.wholes("dilations")?);
        let (pads, auto) = (c.wholes("pads")?, c.choice("auto_pad", "NOTSET", &AUTO_PADS)?);
        let mut window = Window { kernel, strides, pads, dilations, auto };
        match auto {
            AutoPad::NotSet => {}
            AutoPad::Valid => window.pads = Vec::new(),
            AutoPad::Upper | AutoPad::Lower => window.pads = window.same(&c.extents(x)?),
        }
        Ok(window)
    }

    /// Elements between positions of an axis.
    fn stride(&self, axis: usize) -> u64 {
        self.strides.get(axis).copied().unwrap_or(1).max(1)
    }

    /// From the first to the last element under the window, both counted.
    fn reach(&self, axis: usize) -> u64 {
        let dilation = self.dilations.get(axis).copied().unwrap_or(1);
        (self.kernel[axis].max(1) - 1).saturating_mul(dilation).saturating_add(1)
    }

    /// Axes of the window with the operand's extents.
    fn axes<'a>(&self, x: &'a [u64]) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        x.iter().copied().skip(2).enumerate().take(self.kernel.len())
    }

    /// Pads that make ⌈extent/stride⌉ of every extent.
    fn same(&self, x: &[u64]) -> Vec<u64> {
        let pads = self.axes(x).map(|(axis, n)| {
            let stride = self.stride(axis);
            let steps = (n.div_ceil(stride).max(1) - 1) * stride;
            let total = steps.saturating_add(self.reach(axis)).saturating_sub(n);
            let (less, more) = (total / 2, total.div_ceil(2));
            if self.auto == AutoPad::Upper { (less, more) } else { (more, less) }
        });
        let (begin, end): (Vec<u64>, Vec<u64>) = pads.unzip();
        [begin, end].concat()
    }

    /// Output padding of a transposed convolution that reaches extents which are given.
    fn padding_up_to(&self, given: &[u64], x: &[u64], padding: &[u64]) -> Vec<u64> {
        let more = self.axes(x).zip(given).map(|((axis, n), &wanted)| {
            let steps = (n.max(1) - 1).saturating_mul(self.stride(axis));
            let filled = steps.saturating_add(self.reach(axis));
            padding.get(axis).copied().unwrap_or(0).max(wanted.saturating_sub(filled))
        });
        more.collect()
    }
}

fn conv(c: &mut Call<'_>) -> Results {
    let (x, w, bias, groups) = (c.x(0)?, c.x(1)?, c.opt(2), c.whole("group", 1)?);
    let Window { strides, pads, dilations, .. } = Window::read(c, x, Some(w))?;
    one(c.g.conv(x, w, bias, Conv { strides, pads, dilations, groups, ..Conv::default() }))
}

/// Where pads follow from the extents, the result's are stride times the operand's. Extents that are given may be more
/// than windows fill: what is beyond them is as output padding.
fn conv_transpose(c: &mut Call<'_>) -> Results {
    let (x, w, bias, groups) = (c.x(0)?, c.x(1)?, c.opt(2), c.whole("group", 1)?);
    let window = Window::read(c, x, Some(w))?;
    let cut_end = window.auto == AutoPad::Upper;
    let (output_shape, output_padding) = spread(c, x, &window)?;
    let Window { strides, pads, dilations, .. } = window;
    // Pads do not count where extents are given.
    let pads = if output_shape.is_empty() { pads } else { Vec::new() };
    let more = ConvTranspose { output_padding, output_shape, cut_end, ..ConvTranspose::default() };
    one(c.g.conv_transpose(x, w, bias, ConvTranspose { strides, pads, dilations, groups, ..more }))
}

/// Extents of the result, where they do not follow from the pads, and its output padding.
fn spread(c: &mut Call<'_>, x: Value, window: &Window) -> Result<(Vec<u64>, Vec<u64>), OnnxError> {
    let (padding, mut shape) = (c.wholes("output_padding")?, c.wholes("output_shape")?);
    if matches!(window.auto, AutoPad::Upper | AutoPad::Lower) && shape.is_empty() {
        let extents = c.extents(x)?;
        shape = window.axes(&extents).map(|(axis, n)| n.saturating_mul(window.stride(axis))).collect();
    }
    let padding =
        if shape.is_empty() { padding } else { window.padding_up_to(&shape, &c.extents(x)?, &padding) };
    Ok((shape, padding))
}

fn average_pool(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let Window { kernel, strides, pads, dilations, .. } = Window::read(c, x, None)?;
    let (ceil_mode, count_include_pad) = (c.flag("ceil_mode", false)?, c.flag("count_include_pad", false)?);
    one(c.g.average_pool(x, AveragePool { kernel, strides, pads, dilations, ceil_mode, count_include_pad }))
}

fn max_pool(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let Window { kernel, strides, pads, dilations, .. } = Window::read(c, x, None)?;
    let (ceil_mode, storage_order) = (c.flag("ceil_mode", false)?, c.whole("storage_order", 0)?);
    let op = MaxPool { kernel, strides, pads, dilations, ceil_mode };
    if !c.wants(1) {
        return one(c.g.max_pool(x, op));
    }
    let (y, indices) = c.g.max_pool_with_indices(x, op, storage_order);
    Ok(vec![y, indices])
}

fn lp_pool(c: &mut Call<'_>) -> Results {
    let (x, p, ceil_mode) = (c.x(0)?, c.whole("p", 2)?, c.flag("ceil_mode", false)?);
    let Window { kernel, strides, pads, dilations, .. } = Window::read(c, x, None)?;
    one(c.g.lp_pool(x, LpPool { kernel, strides, pads, dilations, ceil_mode, p }))
}

fn col2im(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let (image, kernel) = (c.known_counts(1)?, c.known_counts(2)?);
    let (strides, pads, dilations) = (c.wholes("strides")?, c.wholes("pads")?, c.wholes("dilations")?);
    one(c.g.col2im(x, &image, Im2Col { kernel, strides, pads, dilations, layout: Im2ColLayout::Columns }))
}

fn causal_conv(c: &mut Call<'_>) -> Results {
    let words =
        [("none", ConvActivation::None), ("silu", ConvActivation::Silu), ("swish", ConvActivation::Silu)];
    let (x, w, bias, past) = (c.x(0)?, c.x(1)?, c.opt(2), c.opt(3));
    let activation = c.choice("activation", "none", &words)?;
    let (y, present) = c.g.causal_conv_with_state(x, w, bias, past, CausalConvWithState { activation });
    Ok(vec![y, present])
}
