//! Gradients of `Conv`, and what those of `ConvTranspose` share with them: the correlation that is the gradient by
//! weights, and what makes a value be of an operand's extents.
//!
//! y\[b, o, p\] = bias\[o\] + Σ x\[b, c, p·s − begin + t·d\]·w\[o, c, t\], so that dx is dy spread by the same weights,
//! a transposed convolution with the same lists; dw\[o, c, t\] = Σ dy\[b, o, p\]·x\[b, c, p·s − begin + t·d\] over
//! batch and positions; and dbias\[o\] = Σ dy\[b, o, p\].

use super::conv::Conv;
use super::conv_transpose::ConvTranspose;
use crate::builder::{GraphBuilder, Value};
use crate::ops::pad::Pad;
use crate::ops::{GradCx, Grads, MatMul, NoGrad, Rounding};
use crate::shape::product;
use pumice_types::{DType, DimExpr, WindowAxis};

/// Entries of a batch that a part of it has at least.
const FEWEST: u64 = 2;

/// The rule of `Conv`.
pub(super) fn rule(op: &Conv, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = op.windows(&kernel(cx)?).map_err(|_| NoGrad::Undefined("its lists fit no window"))?;
    let weights = Correlation {
        image: cx.x(0),
        at: cx.dy(),
        windows: &windows,
        groups: op.groups,
        rounding: op.rounding,
    };
    Ok(vec![
        cx.wanted(0, || by_operand(op, cx, &windows)),
        cx.wanted(1, || weights.by_weights(cx)),
        cx.wanted(2, || by_bias(cx)),
    ])
}

/// The extents of the weights' taps, which inference has seen to be constants.
pub(super) fn kernel(cx: &GradCx<'_>) -> Result<Vec<u64>, NoGrad> {
    let taps = cx.shape(cx.x(1)).iter().skip(2).map(DimExpr::as_extent).collect();
    Option::ok_or(taps, NoGrad::Undefined("the extents of its weights are not constants"))
}

/// Σ dy over batch and positions.
pub(super) fn by_bias(cx: &GradCx<'_>) -> Value {
    let rank = cx.shape(cx.y(0)).len() as i64;
    let axes: Vec<i64> = (0..rank).filter(|&axis| axis != 1).collect();
    cx.g.reduce_sum(cx.dy(), &axes, false)
}

/// dy spread by the weights over the extents of x.
fn by_operand(op: &Conv, cx: &GradCx<'_>, windows: &[WindowAxis]) -> Value {
    let (x, y) = (cx.shape(cx.x(0)), cx.shape(cx.y(0)));
    let left = |((window, n), o)| left_over(window, n, o);
    let left: Vec<Option<u64>> = windows.iter().zip(&x[2..]).zip(&y[2..]).map(left).collect();
    let dx = cx.g.conv_transpose(cx.dy(), cx.x(1), None, spreading(op, windows, &left));
    fitted(cx, dx, &x)
}

/// The transposed convolution of a node, by what its windows leave over: that is the output padding. Where symbols
/// decide it, the most that there can be is made, to be cut off.
fn spreading(op: &Conv, windows: &[WindowAxis], left: &[Option<u64>]) -> ConvTranspose {
    let each = || windows.iter().zip(left);
    let ends = each().map(|(window, left)| if left.is_some() { window.end } else { 0 });
    ConvTranspose {
        strides: op.strides.clone(),
        pads: windows.iter().map(|w| w.begin).chain(ends).collect(),
        dilations: op.dilations.clone(),
        groups: op.groups,
        output_padding: each().map(|(window, left)| left.unwrap_or(window.stride - 1)).collect(),
        rounding: op.rounding,
        ..ConvTranspose::default()
    }
}

/// What the last of o windows leaves over of an axis of n elements, unless symbols decide it.
fn left_over(window: &WindowAxis, n: &DimExpr, o: &DimExpr) -> Option<u64> {
    if window.stride == 1 {
        return Some(0);
    }
    window.padded(n).as_extent()?.checked_sub(window.spread_padded(o, 0).as_extent()?)
}

/// The first elements of the spatial axes, at these extents.
pub(super) fn fitted(cx: &GradCx<'_>, mut v: Value, shape: &[DimExpr]) -> Value {
    for (axis, n) in shape.iter().enumerate().skip(2) {
        if cx.shape(v).get(axis).is_some_and(|given| given != n) {
            v = cx.g.narrow(v, axis as i64, 0u64, n.clone());
        }
    }
    // Channels of groups that are the same by what is asked of operands.
    if cx.shape(v) == shape { v } else { cx.g.reshape_to(v, shape.to_vec()) }
}

/// Of w\[o, c, t\] with c in o's group: Σ at\[b, o, p\]·image\[b, c, p·s − begin + t·d\] over batch and positions.
pub(super) struct Correlation<'a> {
    pub image: Value,
    pub at: Value,
    pub windows: &'a [WindowAxis],
    pub groups: u64,
    pub rounding: Rounding,
}

impl Correlation<'_> {
    /// It, of the type of operand 1.
    pub fn by_weights(&self, cx: &GradCx<'_>) -> Value {
        let constant = |v: Value| cx.shape(v).iter().skip(2).all(|n| n.as_extent().is_some_and(|n| n > 0));
        let is_product = self.windows.iter().all(|w| w.kernel == 1);
        if constant(self.at)
            && cx.shape(self.image)[2..].iter().all(|n| n.as_const().is_some())
            && !is_product
        {
            self.by_convolution(cx)
        } else {
            self.by_product(cx)
        }
    }

    /// As a convolution of the image, whose batch and channels change places, by `at` as the weights: strides are the
    /// dilations then, and dilations the strides. Its results are few and their sums long, so the batch falls into
    /// parts that are added after it: a part is a group of the convolution.
    fn by_convolution(&self, cx: &GradCx<'_>) -> Value {
        let (g, shape) = (cx.g, cx.shape(cx.x(1)));
        if let Some(sums) = self.by_entries(cx, &shape) {
            return fitted(cx, sums, &shape);
        }
        let parts = self.parts(cx, &shape);
        let image = self.by_channels(cx, &shape[1]);
        let sums = g.conv(image, self.at_of_parts(cx, parts), None, self.turned(parts));
        fitted(cx, g.transpose(self.added(cx, sums, parts), &swapped(shape.len())), &shape)
    }

    /// The convolution whose strides are the dilations, with so many groups for each one.
    fn turned(&self, parts: u64) -> Conv {
        let each = |of: fn(&WindowAxis) -> u64| self.windows.iter().map(of).collect::<Vec<u64>>();
        Conv {
            strides: each(|w| w.dilation),
            pads: [each(|w| w.begin), each(|w| w.end)].concat(),
            dilations: each(|w| w.stride),
            groups: self.groups.saturating_mul(parts),
            rounding: self.rounding,
        }
    }

    /// Of a depthwise one, with each channel of each entry of the batch as a group: operands stay as they lie. The
    /// entries are added after it. None where there are several channels in a group, and as [`Self::parts`] says.
    fn by_entries(&self, cx: &GradCx<'_>, weights: &[DimExpr]) -> Option<Value> {
        let (g, at) = (cx.g, cx.shape(self.at));
        let batch = self.entries(cx).filter(|_| weights[1].is(1))?;
        let (one, groups) = (DimExpr::constant(1), DimExpr::from(self.groups.checked_mul(batch)?));
        let x = with_outer(g, self.image, &[one.clone(), groups]);
        let w = with_outer(g, self.at, &[&at[0] * &at[1], one.clone()]);
        let sums = g.conv(x, w, None, self.turned(batch));
        let apart = with_outer(g, sums, &[at[0].clone(), at[1].clone(), one]);
        Some(g.reduce_sum(apart, &[0], false))
    }

    /// Entries of a batch of f32, where there are some.
    fn entries(&self, cx: &GradCx<'_>) -> Option<u64> {
        let image = cx.ty(self.image);
        image.shape[0].as_extent().filter(|&batch| batch > 0 && image.dtype() == DType::F32)
    }

    /// Into how many parts the batch falls: as many as have two entries each at least and results that are no larger
    /// than the image. Of 16 bits the sum of a part would be rounded.
    fn parts(&self, cx: &GradCx<'_>, weights: &[DimExpr]) -> u64 {
        let image = cx.ty(self.image);
        let known =
            [image.shape[0].as_extent(), product(&image.shape).as_extent(), product(weights).as_extent()];
        let [Some(batch), Some(values), Some(sums)] = known else { return 1 };
        if image.dtype() != DType::F32 {
            return 1;
        }
        let most = (batch / FEWEST).min(values / sums.max(1)).max(1);
        (1..=most).rev().find(|parts| batch.is_multiple_of(*parts)).unwrap_or(1)
    }

    /// `at` as the weights of a convolution by parts of the batch: \[groups, parts, outputs of a group; batch of a
    /// part, positions…\].
    fn at_of_parts(&self, cx: &GradCx<'_>, parts: u64) -> Value {
        let (g, at) = (cx.g, cx.shape(self.at));
        if parts == 1 {
            return g.transpose(self.at, &swapped(at.len()));
        }
        let [parts, groups] = [parts, self.groups].map(DimExpr::from);
        let (own, outputs) = (of_a_group(&at[0], &parts), of_a_group(&at[1], &groups));
        let with = |first: &[&DimExpr]| first.iter().copied().chain(&at[2..]).cloned().collect::<Vec<_>>();
        let apart = g.reshape_to(self.at, with(&[&parts, &own, &groups, &outputs]));
        let order: Vec<i64> = [2, 0, 3, 1].into_iter().chain(4..at.len() as i64 + 2).collect();
        g.reshape_to(g.transpose(apart, &order), with(&[&(&groups * &parts * &outputs), &own]))
    }

    /// \[channels of a group; groups, parts, outputs of a group; taps…\] with the parts added.
    fn added(&self, cx: &GradCx<'_>, sums: Value, parts: u64) -> Value {
        if parts == 1 {
            return sums;
        }
        let (g, shape) = (cx.g, cx.shape(sums));
        let all = DimExpr::from(parts);
        let [groups, outputs] = [self.groups.into(), of_a_group(&shape[1], &(&all * self.groups))];
        let with = |first: &[&DimExpr]| first.iter().copied().chain(&shape[2..]).cloned().collect::<Vec<_>>();
        let apart = g.reshape_to(sums, with(&[&shape[0], &groups, &all, &outputs]));
        g.reshape_to(g.reduce_sum(apart, &[2], false), with(&[&shape[0], &(&groups * &outputs)]))
    }

    /// The image with its channels of a group, of which there are so many, as the batch, and the batch of each group as
    /// channels.
    fn by_channels(&self, cx: &GradCx<'_>, own: &DimExpr) -> Value {
        let (g, image) = (cx.g, cx.shape(self.image));
        if self.groups == 1 {
            return g.transpose(self.image, &swapped(image.len()));
        }
        let (batch, groups) = (&image[0], DimExpr::from(self.groups));
        let with = |first: &[DimExpr]| [first, &image[2..]].concat();
        let apart = g.reshape_to(self.image, with(&[batch.clone(), groups.clone(), own.clone()]));
        let order: Vec<i64> = [2, 1, 0].into_iter().chain(3..image.len() as i64 + 1).collect();
        g.reshape_to(g.transpose(apart, &order), with(&[own.clone(), &groups * batch]))
    }

    /// As a product of matrices, \[outputs of a group, batch and positions\] by what of the image is under each tap,
    /// \[channels of a group and taps, batch and positions\]. Extents may be symbols.
    fn by_product(&self, cx: &GradCx<'_>) -> Value {
        let (g, groups, shape) = (cx.g, DimExpr::from(self.groups), cx.shape(cx.x(1)));
        let at = cx.shape(self.at);
        let places = &at[0] * &product(&at[2..]);
        let taps = &shape[1] * &product(&shape[2..]);
        let a = self.by_outputs(cx, [groups.clone(), of_a_group(&shape[0], &groups), places.clone()]);
        let b = g.reshape_to(self.under_taps(cx, &at[2..]), vec![groups, taps, places]);
        let sums = g.apply(MatMul { trans_a: false, trans_b: true, rounding: self.rounding }, &[a, b]);
        g.reshape_to(sums, shape)
    }

    /// `at` with its outputs first, as matrices of these extents.
    fn by_outputs(&self, cx: &GradCx<'_>, matrices: [DimExpr; 3]) -> Value {
        let outputs = cx.g.transpose(self.at, &swapped(cx.shape(self.at).len()));
        cx.g.reshape_to(outputs, matrices.to_vec())
    }

    /// What of the image is under each tap at so many positions, \[channels, taps…, batch, positions…\].
    fn under_taps(&self, cx: &GradCx<'_>, positions: &[DimExpr]) -> Value {
        let mut y = padded(cx.g, self.image, self.windows);
        for (i, (window, o)) in self.windows.iter().zip(positions).enumerate().rev() {
            y = along_axis(cx, y, i + 2, window, o);
        }
        let spatial = positions.len() as i64;
        let (taps, at): (Vec<i64>, Vec<i64>) = (0..spatial).map(|i| (2 * i + 2, 2 * i + 3)).unzip();
        cx.g.transpose(y, &[vec![1], taps, vec![0], at].concat())
    }
}

/// An axis as two: taps, and the positions that they are at.
fn along_axis(cx: &GradCx<'_>, y: Value, axis: usize, window: &WindowAxis, o: &DimExpr) -> Value {
    let g = cx.g;
    if window.kernel == 1 && window.stride == 1 && cx.shape(y).get(axis) == Some(o) {
        return g.unsqueeze(y, &[axis as i64]);
    }
    let kernel = DimExpr::from(window.kernel);
    let tap = g.over(g.scaled(g.counted(&kernel), window.dilation, 0), &[kernel], 1);
    let first = g.scaled(g.counted(o), window.stride, 0);
    g.gather(y, g.add(tap, first), axis as i64)
}

/// How many of all outputs a group has.
fn of_a_group(outputs: &DimExpr, groups: &DimExpr) -> DimExpr {
    outputs.exact_quotient(groups).unwrap_or_else(|| outputs.floor_div(groups))
}

/// A value with these axes in place of its first two.
fn with_outer(g: &GraphBuilder, v: Value, outer: &[DimExpr]) -> Value {
    let shape = g.type_of(v).map(|ty| ty.shape[2..].to_vec()).unwrap_or_default();
    g.reshape_to(v, [outer, &shape].concat())
}

/// The order of axes that swaps the first two.
fn swapped(rank: usize) -> Vec<i64> {
    [1, 0].into_iter().chain(2..rank as i64).collect()
}

/// With the pads of windows on its spatial axes.
fn padded(g: &GraphBuilder, image: Value, windows: &[WindowAxis]) -> Value {
    let count = |pad: u64| i64::try_from(pad).unwrap_or(i64::MAX);
    let pads = windows.iter().map(|w| count(w.begin)).chain(windows.iter().map(|w| count(w.end)));
    let pads: Vec<i64> = pads.collect();
    if pads.iter().all(|&p| p == 0) {
        return image;
    }
    let axes = (2..2 + windows.len() as i64).collect();
    g.pad(image, None, Pad { pads, axes, ..Pad::default() })
}
