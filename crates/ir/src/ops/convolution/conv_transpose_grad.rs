//! Gradients of `ConvTranspose`, the adjoint of a convolution.
//!
//! y\[b, o, p\] = bias\[o\] + Σ x\[b, c, i\]·w\[c, o, t\] where i·s = p + begin − t·d, so that dx\[b, c, i\] =
//! Σ dy\[b, o, i·s − begin + t·d\]·w\[c, o, t\], a convolution of dy by the same weights; dw\[c, o, t\] =
//! Σ x\[b, c, i\]·dy\[b, o, i·s − begin + t·d\], the correlation that a convolution has, with dy as the image; and
//! dbias\[o\] = Σ dy\[b, o, p\].

use super::conv::Conv;
use super::conv_grad::{Correlation, by_bias, fitted, kernel};
use super::conv_transpose::{ConvTranspose, Spread};
use crate::builder::Value;
use crate::ops::{GradCx, Grads, NoGrad};
use pumice_types::WindowAxis;

/// The rule of `ConvTranspose`.
pub(super) fn rule(op: &ConvTranspose, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let kernel = kernel(cx)?;
    let axes = op.axes(&kernel, &cx.shape(cx.x(0))[2..]);
    let axes = axes.map_err(|_| NoGrad::Undefined("its lists fit no window"))?;
    let bias = cx.wanted(2, || by_bias(cx));
    let [dx, dw] = by_factors(op, cx, &axes);
    Ok(vec![dx, dw, bias])
}

/// dx and dw, as far as they are asked for.
fn by_factors(op: &ConvTranspose, cx: &GradCx<'_>, axes: &[Spread]) -> [Option<Value>; 2] {
    if cx.shape(cx.x(0))[2..].iter().any(|n| n.is(0)) {
        return [0, 1].map(|i| cx.wanted(i, || cx.zeros(cx.x(i))));
    }
    if !cx.wants(0) && !cx.wants(1) {
        return [None, None];
    }
    let (dy, windows) = uncut(op, cx, axes);
    let (groups, rounding) = (op.groups, op.rounding);
    let weights = Correlation { image: dy, at: cx.x(0), windows: &windows, groups, rounding };
    [cx.wanted(0, || by_operand(op, cx, dy, &windows)), cx.wanted(1, || weights.by_weights(cx))]
}

/// dy, and the windows whose pads give back what was cut off at its ends. Where symbols decide how much that is, zeros
/// are put there, and the window has no pads.
fn uncut(op: &ConvTranspose, cx: &GradCx<'_>, axes: &[Spread]) -> (Value, Vec<WindowAxis>) {
    let (mut dy, mut windows) = (cx.dy(), Vec::new());
    for (i, spread) in axes.iter().enumerate() {
        let Spread { window, whole, begin, extent } = spread;
        let end = whole.clone() - begin.clone() - extent.clone();
        let pads = match begin.as_extent().zip(end.as_extent()) {
            _ if op.output_shape.is_empty() => Some((window.begin, window.end)),
            constant => constant,
        };
        let (before, after) = pads.unwrap_or((0, 0));
        windows.push(WindowAxis { begin: before, end: after, ..*window });
        if pads.is_none() {
            dy = cx.among_zeros(dy, i + 2, begin, whole);
        }
    }
    (dy, windows)
}

/// dy convolved by the weights. Where output padding is as long as a stride there are positions too many, and where x
/// may have no elements one is added, so that windows fit: they are cut off.
fn by_operand(op: &ConvTranspose, cx: &GradCx<'_>, dy: Value, windows: &[WindowAxis]) -> Value {
    let (x, symbols) = (cx.shape(cx.x(0)), cx.g.symbols().unwrap_or_default());
    let begins = windows.iter().map(|w| w.begin);
    let ends = windows.iter().zip(&x[2..]).map(|(window, n)| match n.lower(&symbols) {
        0 => window.end.saturating_add(window.stride),
        _ => window.end,
    });
    let conv = Conv {
        strides: op.strides.clone(),
        pads: begins.chain(ends).collect(),
        dilations: op.dilations.clone(),
        groups: op.groups,
        rounding: op.rounding,
    };
    fitted(cx, cx.g.conv(dy, cx.x(1), None, conv), &x)
}
