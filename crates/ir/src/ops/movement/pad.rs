//! `Pad`: elements before and after axes.

use super::pad_samples;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::sample::Sample;
use crate::shape::display_dim;
use crate::{Graph, NodeId, Patch};
use pumice_types::DimExpr;

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
