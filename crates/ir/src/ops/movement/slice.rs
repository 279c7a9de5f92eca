//! `Slice`: a range with a step along some axes.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Simpler};
use crate::sample::Sample;
use crate::shape::{ValueType, display_dim};
use pumice_types::{DType, DimExpr, SymbolTable};

crate::op! {
    /// The elements start, start + step, … before end, along each named axis (ONNX Slice). Starts and ends are clamped
    /// as NumPy does, negative ones count from the end; a negative step walks backward, and i64::MIN as its end means
    /// through the first element.
    ///
    /// Of a param in blocks (x\[…\] → the same encoding) ranges of the last axis are whole blocks, with steps of 1;
    /// ranges of dequantized values may cut blocks.
    pub struct Slice {
        /// First index of each axis.
        starts: Vec<DimExpr>,
        /// The index that is not reached.
        ends: Vec<DimExpr>,
        /// The axes; empty: the first ones, as many as there are starts.
        axes: Vec<i64> = Vec::new(),
        /// Steps; empty: 1.
        steps: Vec<i64> = Vec::new(),
        /// Whether every range lies inside its axis as it is written, with steps of 1: nothing is clamped.
        exact: bool = false,
    }
}

/// What is taken of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisRange {
    /// The axis.
    pub axis: usize,
    /// First index taken, clamped.
    pub start: DimExpr,
    /// Distance of the indices.
    pub step: i64,
    /// How many are taken.
    pub len: DimExpr,
}

impl Slice {
    /// The clamped range of every sliced axis of a tensor of that shape.
    pub fn ranges(&self, shape: &[DimExpr], symbols: &SymbolTable) -> Result<Vec<AxisRange>, OpError> {
        let n = self.starts.len();
        let agree = |list: usize| list == n || list == 0;
        if self.ends.len() != n || !agree(self.axes.len()) || !agree(self.steps.len()) {
            return Err(OpError::Invalid("starts, ends, axes and steps must be equally long".into()));
        }
        let mut ranges: Vec<AxisRange> = Vec::with_capacity(n);
        for i in 0..n {
            let named = self.axes.get(i).copied().unwrap_or(i as i64);
            let axis = crate::infer::normalize_axis(named, shape.len())?;
            if ranges.iter().any(|r| r.axis == axis) {
                return Err(OpError::DuplicateAxis(named));
            }
            ranges.push(self.range(i, axis, &shape[axis], symbols)?);
        }
        Ok(ranges)
    }

    /// Range `i`, along an axis of that extent.
    fn range(
        &self,
        i: usize,
        axis: usize,
        extent: &DimExpr,
        symbols: &SymbolTable,
    ) -> Result<AxisRange, OpError> {
        let step = self.steps.get(i).copied().unwrap_or(1);
        expect_step("steps", step)?;
        if self.exact && (step != 1 || self.is_inside(i, extent, symbols) == Some(false)) {
            let [start, end, extent] =
                [&self.starts[i], &self.ends[i], extent].map(|e| display_dim(e, symbols));
            return Err(OpError::OutsideAxis { what: format!("a range of axis {axis}"), start, end, extent });
        }
        let bound = |e: &DimExpr| clamped(e, extent, step > 0, symbols);
        let (start, end) = (bound(&self.starts[i])?, bound(&self.ends[i])?);
        let span = if step > 0 { end - &start } else { &start - end };
        let size = DimExpr::constant(step.abs());
        let len = within(span, &DimExpr::constant(0), symbols, false).ceil_div(&size);
        Ok(AxisRange { axis, start, step, len: simplest(len, symbols) })
    }
}

impl Slice {
    /// Whether range `i` lies inside an axis of extent `n` as it is written; `None` where that depends on the symbols.
    fn is_inside(&self, i: usize, n: &DimExpr, symbols: &SymbolTable) -> Option<bool> {
        let from_start = |e: &DimExpr| if e.bounds(symbols).1 < 0 { n + e } else { e.clone() };
        let (start, end) = (from_start(&self.starts[i]), from_start(&self.ends[i]));
        let in_order = end.is_at_most(n, symbols) && start.is_at_most(&end, symbols);
        if in_order && start.bounds(symbols).0 >= 0 {
            return Some(true);
        }
        let at_least_0 = [start.clone(), n - &end, end - start];
        let bounds = at_least_0.map(|e| e.bounds(symbols));
        bounds.iter().any(|(_, hi)| *hi < 0).then_some(false)
    }
}

/// Errors unless a walk by this step comes to an end.
pub(super) fn expect_step(name: &'static str, step: i64) -> Result<(), OpError> {
    if step == 0 || step == i64::MIN {
        let reason = "a step is neither 0 nor the smallest integer".into();
        return Err(AttrError::Value { name, reason }.into());
    }
    Ok(())
}

/// A length of one value is that number.
fn simplest(len: DimExpr, symbols: &SymbolTable) -> DimExpr {
    let (lo, hi) = len.bounds(symbols);
    if lo == hi { DimExpr::constant(lo) } else { len }
}

/// A start or end brought into 0..=n, or −1..=n−1 for a walk backward, where n is the extent.
fn clamped(e: &DimExpr, n: &DimExpr, forward: bool, symbols: &SymbolTable) -> Result<DimExpr, OpError> {
    let (lo, hi) = e.bounds(symbols);
    let from_end = hi < 0;
    if lo < 0 && !from_end {
        let extent = display_dim(e, symbols);
        return Err(OpError::ExtentUnsupported { what: "the sign of a start or end".into(), extent });
    }
    let (floor, ceiling) = if forward {
        (DimExpr::constant(0), n.clone())
    } else {
        (DimExpr::constant(-1), n - DimExpr::constant(1))
    };
    // i64::MIN plus an extent saturates nowhere near the floor, so the order of the two limits is free.
    let index = if from_end { n + e } else { e.clone() };
    let below = within(index, &ceiling, symbols, true);
    Ok(within(below, &floor, symbols, false))
}

/// min(e, limit) or max(e, limit), the expression itself where bounds decide.
fn within(e: DimExpr, limit: &DimExpr, symbols: &SymbolTable, at_most: bool) -> DimExpr {
    let (lo, hi) = (&e - limit).bounds(symbols);
    match (at_most, hi <= 0, lo >= 0) {
        (true, true, _) | (false, _, true) => e,
        (true, _, true) | (false, true, _) => limit.clone(),
        (true, ..) => e.min_with(limit),
        (false, ..) => e.max_with(limit),
    }
}

impl OpDef for Slice {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        if x.encoding.codes().is_some() {
            let value = format!("operand `{}`", cx.name(0));
            return Err(OpError::Blocks { value, encoding: x.encoding, op: "slice" });
        }
        let mut shape = x.shape.to_vec();
        for (i, range) in self.ranges(&x.shape, cx.symbols())?.into_iter().enumerate() {
            if self.exact && self.is_inside(i, &x.shape[range.axis], cx.symbols()).is_none() {
                // Clamping takes elements away, so a range of its full length lies inside.
                let whole = &self.ends[i] - &self.starts[i];
                cx.equal(&range.len, &whole, &format!("a range inside axis {}", range.axis))?;
            }
            shape[range.axis] = range.len.clone();
            whole_blocks(x, &range, cx.symbols())?;
        }
        Ok(smallvec::smallvec![ValueType::new(x.encoding, shape)])
    }

    fn samples() -> Vec<Sample> {
        super::slice_samples::samples()
    }

    fn is_movement(&self) -> bool {
        true
    }

    fn reads_strides(&self) -> bool {
        true
    }

    fn handles_blocks(&self) -> bool {
        true
    }

    /// x\[0.., step 1\] == x where the extents are x's.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let same = cx.is_operand()?;
        let ranges = self.ranges(&cx.graph.ty(cx.operand(0)?).shape, cx.graph.symbols()).ok()?;
        ranges.iter().all(|r| r.step == 1 && r.start.is(0)).then_some(same)
    }
}

/// A range of values in blocks begins and ends between blocks, which lie along the last axis.
fn whole_blocks(x: &ValueType, range: &AxisRange, symbols: &SymbolTable) -> Result<(), OpError> {
    let (elements, _) = x.encoding.block();
    let whole = |e: &DimExpr| e.is(0) || e.divisor(symbols).is_multiple_of(elements);
    if elements == 1
        || range.axis + 1 < x.rank()
        || range.step == 1 && whole(&range.start) && whole(&range.len)
    {
        return Ok(());
    }
    Err(OpError::InsideBlock {
        axis: range.axis,
        start: display_dim(&range.start, symbols),
        len: display_dim(&range.len, symbols),
        encoding: x.encoding,
    })
}

/// dy among zeros, where the elements were taken from.
fn rule(op: &Slice, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let shape = cx.shape(cx.x(0));
    let symbols = cx.g.symbols().unwrap_or_default();
    let ranges = op.ranges(&shape, &symbols).map_err(|_| NoGrad::Composed)?;
    let put = |dy, range: &AxisRange| put_back(cx, dy, range, &shape[range.axis]);
    Ok(vec![Some(ranges.iter().fold(cx.dy(), put))])
}

/// A gradient of what was taken of one axis as one of the whole axis.
fn put_back(cx: &GradCx<'_>, dy: Value, range: &AxisRange, extent: &DimExpr) -> Value {
    let (g, axis) = (cx.g, range.axis);
    if range.step == 1 || range.len.is(1) {
        return cx.among_zeros(dy, axis, &range.start, extent);
    }
    let end = &range.start + &range.len * DimExpr::constant(range.step);
    let places = g.range(range.start.clone(), end, range.step, DType::I64);
    cx.added_along(dy, axis, places, extent.clone())
}

impl GraphBuilder {
    /// A range with a step along some axes: x\[…, n, …\] → \[…, ⌈(end − start)/step⌉, …\]. Empty `axes`: the first
    /// ones; empty `steps`: 1.
    #[track_caller]
    pub fn slice(&self, x: Value, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Value {
        let exprs = |v: &[i64]| v.iter().map(|&i| DimExpr::constant(i)).collect();
        let (starts, ends) = (exprs(starts), exprs(ends));
        self.apply(Slice { starts, ends, axes: axes.to_vec(), steps: steps.to_vec(), exact: false }, &[x])
    }

    /// The `len` elements from `start` on along one axis, both expressions: x\[…, n, …\] → \[…, len, …\]. They must be
    /// there: a range that cannot lie inside the axis is a mistake of the graph, one that does for some values of the
    /// symbols is checked at every run. [`GraphBuilder::slice`] clamps instead.
    #[track_caller]
    pub fn narrow(&self, x: Value, axis: i64, start: impl Into<DimExpr>, len: impl Into<DimExpr>) -> Value {
        let (start, len): (DimExpr, DimExpr) = (start.into(), len.into());
        let end = &start + len;
        let axes = vec![axis];
        let mut slice = Slice { starts: vec![start], ends: vec![end], axes, steps: Vec::new(), exact: true };
        if let (Some(ty), Some(symbols)) = (self.type_of(x), self.symbols())
            && let Ok(axis) = crate::infer::normalize_axis(axis, ty.shape.len())
        {
            // What lies inside whatever the symbols are needs no check.
            slice.exact = slice.is_inside(0, &ty.shape[axis], &symbols) != Some(true);
        }
        self.apply(slice, &[x])
    }
}
