//! `Pad`: elements before and after axes.

use super::pad_samples;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::Sample;
use crate::shape::display_dim;
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr, Tensor};

crate::attr_enum! {
    /// What stands in the elements that are added.
    pub enum PadMode {
        /// One value.
        Constant = "constant",
        /// The elements after the border, backward; the border itself is not repeated.
        Reflect = "reflect",
        /// The border.
        Edge = "edge",
        /// The elements from the other end on, as if the axis were a ring.
        Wrap = "wrap",
    }
}

crate::op! {
    /// x with elements added before and after axes (ONNX Pad): x\[…, n, …\], value\[\] → \[…, before + n + after, …\].
    /// Axes are padded one after the other, so that corners are padded twice. Any dtype. In constant mode negative
    /// numbers crop, and no more than there is; reflect adds at most n − 1 elements on a side, edge none to an empty
    /// axis, wrap any number, of an axis that symbols decide at most n.
    pub struct Pad {
        /// What is added.
        mode: PadMode = PadMode::Constant,
        /// How many elements before each axis, then how many after each.
        pads: Vec<i64>,
        /// The axes; all if empty.
        axes: Vec<i64> = Vec::new(),
    }
}

impl Default for Pad {
    fn default() -> Pad {
        Pad { mode: PadMode::Constant, pads: Vec::new(), axes: Vec::new() }
    }
}

/// What is added to an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisPad {
    /// The axis.
    pub axis: usize,
    /// Elements before it; negative: cropped.
    pub before: i64,
    /// Elements after it.
    pub after: i64,
}

impl AxisPad {
    /// Whether the axis changes.
    pub fn adds(&self) -> bool {
        self.before != 0 || self.after != 0
    }
}

impl Pad {
    /// What is added to each axis of a tensor of that rank.
    ///
    /// # Errors
    /// Axes outside the rank or named twice, a list that is not twice as long as there are axes.
    pub fn sides(&self, rank: usize) -> Result<Vec<AxisPad>, OpError> {
        let axes: Vec<i64> =
            if self.axes.is_empty() { (0..rank as i64).collect() } else { self.axes.clone() };
        if self.pads.len() != 2 * axes.len() {
            let reason = format!("{} numbers for {} axes, which have two each", self.pads.len(), axes.len());
            return Err(AttrError::Value { name: "pads", reason }.into());
        }
        let (before, after) = self.pads.split_at(axes.len());
        let mut sides: Vec<AxisPad> = Vec::with_capacity(axes.len());
        for ((&named, &before), &after) in axes.iter().zip(before).zip(after) {
            let axis = crate::infer::normalize_axis(named, rank)?;
            if sides.iter().any(|s| s.axis == axis) {
                return Err(OpError::DuplicateAxis(named));
            }
            let most = i64::from(i32::MAX);
            if before.abs_diff(0).max(after.abs_diff(0)) > most as u64 {
                let reason = format!("{before} and {after}: at most {most} elements are added to a side");
                return Err(AttrError::Value { name: "pads", reason }.into());
            }
            sides.push(AxisPad { axis, before, after });
        }
        Ok(sides)
    }

    /// Whether an axis of extent n has what is read or cropped.
    fn expect_enough(&self, cx: &Infer<'_>, n: &DimExpr, side: AxisPad) -> Result<(), OpError> {
        let AxisPad { axis, before, after } = side;
        let (most, crops) = (before.max(after), before.min(0) + after.min(0));
        let at_least = |count: i64, what: &str| {
            if n.as_const().is_some() {
                return cx.at_most(&DimExpr::constant(count), n, &format!("{what} of axis {axis} of `x`"));
            }
            if n.bounds(cx.symbols()).0 >= count {
                return Ok(());
            }
            let n = display_dim(n, cx.symbols());
            let range = "give its symbols a range that has them";
            Err(OpError::Invalid(format!(
                "{what} of axis {axis} of `x` are {count}, {n} may be fewer; {range}"
            )))
        };
        match self.mode {
            PadMode::Constant if crops < 0 => at_least(-crops, "the elements cropped"),
            PadMode::Constant => Ok(()),
            _ if crops < 0 => {
                let reason = format!("{before} and {after}: only constant pads are negative");
                Err(AttrError::Value { name: "pads", reason }.into())
            }
            _ if most == 0 => Ok(()),
            PadMode::Reflect => at_least(most + 1, "the border and the elements reflected"),
            PadMode::Wrap if n.as_const().is_none() => at_least(most, "the elements wrapped"),
            PadMode::Edge | PadMode::Wrap => at_least(1, "the elements needed"),
        }
    }
}

impl OpDef for Pad {
    const OPERANDS: &'static [&'static str] = &["x", "value?"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        if self.mode == PadMode::Constant {
            cx.same_dtype(0, 1)?;
            cx.expect_rank(1, 0)?;
        } else if cx.opt(1).is_some() {
            return Err(OpError::TooManyOperands { most: 1, given: 2 });
        }
        let mut shape = x.shape.to_vec();
        for side in self.sides(x.rank())? {
            self.expect_enough(cx, &shape[side.axis], side)?;
            shape[side.axis] = &shape[side.axis] + DimExpr::constant(side.before + side.after);
        }
        one(x.dtype(), shape)
    }

    fn samples() -> Vec<Sample> {
        pad_samples::samples()
    }

    fn moves_bits(&self) -> bool {
        true
    }

    /// Constant borders, axis by axis: the part before, x, the part after, joined. Others two axes at a time, which
    /// stay as they are.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        super::pad_parts::expand(self, graph, id)
    }
}

/// `Constant`: what of dy lies where x does, and the sum of the rest for the value. The other modes read elements of x
/// more than once: each part of dy is added where it was read, axis by axis.
fn rule(op: &Pad, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, shape) = (cx.g, cx.shape(cx.x(0)));
    let axes = op.sides(shape.len()).map_err(|_| NoGrad::Composed)?;
    if op.mode == PadMode::Constant {
        let inside = axes.iter().fold(cx.dy(), |dy, pad| uncovered(cx, dy, pad, &shape[pad.axis]));
        let value = || {
            // Not all of dy less what is inside, which has no influence.
            let [zeros, one] = [cx.zeros(cx.x(0)), g.constant_scalar(cx.ty(cx.x(0)).dtype(), 1.0)];
            let is_outside = g.cast(g.pad(zeros, Some(one), op.clone()), DType::Bool);
            let outside = g.select(is_outside, wide(g, cx.dy()), g.constant_scalar(DType::F32, 0.0));
            narrowed(cx, g.reduce_sum(outside, &[], false), cx.x(1))
        };
        return Ok(vec![cx.wanted(0, || inside), cx.wanted(1, value)]);
    }
    // The last axis that was padded read what the others had made.
    let mut dy = cx.dy();
    for pad in axes.iter().rev() {
        dy = read_back(cx, op.mode, dy, pad, &shape[pad.axis])?;
    }
    Ok(vec![Some(dy)])
}

/// What of a gradient lies where elements of the axis do; zeros for elements that were cropped.
fn uncovered(cx: &GradCx<'_>, dy: Value, pad: &AxisPad, extent: &DimExpr) -> Value {
    let (before, after) = (pad.before.max(0), pad.after.max(0));
    let (cut_before, cut_after) = ((-pad.before).max(0), (-pad.after).max(0));
    let kept = extent - DimExpr::constant(cut_before + cut_after);
    let kept_dy =
        if before == 0 && after == 0 { dy } else { cx.g.narrow(dy, pad.axis as i64, before as u64, kept) };
    cx.among_zeros(kept_dy, pad.axis, &DimExpr::constant(cut_before), extent)
}

/// A gradient of an axis that was padded with elements of its own: what lies around it is added where it was read.
fn read_back(
    cx: &GradCx<'_>,
    mode: PadMode,
    dy: Value,
    pad: &AxisPad,
    extent: &DimExpr,
) -> Result<Value, NoGrad> {
    let (g, axis, n) = (cx.g, pad.axis as i64, extent);
    let number = DimExpr::constant;
    if mode == PadMode::Wrap && pad.before.max(pad.after) > n.as_const().unwrap_or(i64::MAX) {
        return wrapped_often(cx, dy, pad, n);
    }
    let inside = g.narrow(dy, axis, number(pad.before), n.clone());
    let turned = |x| g.slice(x, &[-1], &[i64::MIN], &[axis], &[-1]);
    let summed = |x| g.reduce_sum(x, &[axis], true);
    let mut parts = vec![inside];
    // Each side, where its elements go, and how.
    for (from, count, reflected, edge, around) in [
        (number(0), pad.before, number(1), number(0), n - number(pad.before)),
        (number(pad.before) + n, pad.after, n - number(1 + pad.after), n - number(1), number(0)),
    ] {
        if count == 0 {
            continue;
        }
        let side = g.narrow(dy, axis, from, number(count));
        let (read, start) = match mode {
            PadMode::Reflect => (turned(side), reflected),
            PadMode::Wrap => (side, around),
            _ => (summed(side), edge),
        };
        parts.push(cx.among_zeros(read, pad.axis, &start, n));
    }
    parts.into_iter().reduce(|sum, part| g.add(sum, part)).ok_or(NoGrad::Composed)
}

/// As [`read_back`], of an axis that its pads go around more than once.
fn wrapped_often(cx: &GradCx<'_>, dy: Value, pad: &AxisPad, extent: &DimExpr) -> Result<Value, NoGrad> {
    let (g, n) = (cx.g, extent.as_const().ok_or(NoGrad::Composed)?);
    let places: Vec<i64> = (-pad.before..n + pad.after).map(|i| i.rem_euclid(n.max(1))).collect();
    let count = [places.len() as u64];
    let places = Tensor::new(&places, &count).map_err(|_| NoGrad::Composed)?;
    Ok(cx.added_along(dy, pad.axis, g.constant(places), n as u64))
}

impl GraphBuilder {
    /// Elements added before and after axes: x\[…, n, …\], value\[\] → \[…, before + n + after, …\]. In constant mode
    /// the value is 0 where none is given; other modes take none.
    ///
    /// Mistakes: lists of other lengths, axes named twice, negative numbers in another mode than constant, more
    /// elements reflected than there are beside the border. An axis that symbols decide has, by their range, what is
    /// read or cropped.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::pad::{Pad, PadMode};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 3..=64), 8.into()]));
    /// g.output("zeros", g.pad(x, None, Pad { pads: vec![1, 2], axes: vec![-1], ..Pad::default() }));
    /// g.output("mirror", g.pad(x, None, Pad { mode: PadMode::Reflect, pads: vec![2, 0, 2, 0], ..Pad::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn pad(&self, x: Value, value: Option<Value>, op: Pad) -> Value {
        let zero = || Some(self.constant_scalar(self.type_of(x)?.dtype(), 0.0));
        let value = if op.mode == PadMode::Constant { value.or_else(zero) } else { value };
        self.apply_all(op, &[Some(x), value])[0]
    }
}
