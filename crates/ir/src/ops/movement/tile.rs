//! Copies of elements along axes, as compositions: `tile`, `repeat_interleave`.

use crate::attr::AttrError;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::normalize_axis;
use crate::ops::{Identity, Reshape};
use crate::shape::product;
use pumice_types::{DimExpr, MAX_RANK};

impl GraphBuilder {
    /// The whole tensor again and again along its axes (ONNX Tile): x\[…, n, …\] → \[…, repeats·n, …\],
    /// y\[…, i, …\] = x\[…, i mod n, …\]. One number for each axis; 0 leaves an axis empty. Any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([2, 3]));
    /// g.output("y", g.tile(x, &[1, 4]));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn tile(&self, x: Value, repeats: &[u64]) -> Value {
        let shape = match self.checked_operands("tile", &["x"], &[x], |_| Ok(())) {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        if repeats.len() != shape.len() {
            let reason = format!("{} numbers for {} axes", repeats.len(), shape.len());
            return self.wrong_call("tile", AttrError::Value { name: "repeats", reason }.into());
        }
        if let Err(e) = repeats.iter().try_for_each(|&r| expect_few(r)) {
            return self.wrong_call("tile", e);
        }
        let copied = (0..shape.len()).map(|axis| Copied { axis, count: repeats[axis], inner: false });
        self.copied("tile", x, shape, copied.filter(|c| c.count != 1).collect())
    }

    /// Every element of an axis so many times (PyTorch repeat_interleave with a number): x\[…, n, …\] →
    /// \[…, n·repeats, …\], y\[…, i, …\] = x\[…, ⌊i/repeats⌋, …\]. 0 leaves the axis empty. Any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let heads = g.input("heads", f32([4.into(), sym("n", 1..=64), 16.into()]));
    /// g.output("grouped", g.repeat_interleave(heads, 3, 0));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn repeat_interleave(&self, x: Value, repeats: u64, axis: i64) -> Value {
        let method = "repeat_interleave";
        let shape = match self.checked_operands(method, &["x"], &[x], |_| Ok(())) {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        match expect_few(repeats).and_then(|()| normalize_axis(axis, shape.len())) {
            Ok(axis) => self.copied(method, x, shape, vec![Copied { axis, count: repeats, inner: true }]),
            Err(e) => self.wrong_call(method, e),
        }
    }

    /// Copies along axes, in as few steps as ranks allow.
    #[track_caller]
    fn copied(&self, method: &'static str, x: Value, shape: Vec<DimExpr>, axes: Vec<Copied>) -> Value {
        let g = self.composition(method);
        let mut made = Made { x, shape };
        let mut rest = axes.as_slice();
        while !rest.is_empty() {
            let fits = |n: &usize| made.split(&rest[..*n]).0.len() <= MAX_RANK;
            // One axis has at most four parts: what is before it, its copies, itself, what is after it.
            let count = (1..=rest.len()).rev().find(fits).unwrap_or(1);
            let (now, later) = rest.split_at(count);
            made = made.stretched(&g, now);
            rest = later;
        }
        g.last().apply(Identity {}, &[made.x])
    }
}

/// An extent has 31 bits.
fn expect_few(repeats: u64) -> Result<(), OpError> {
    if repeats <= i32::MAX as u64 {
        return Ok(());
    }
    let reason = format!("{repeats} is more than an axis has");
    Err(AttrError::Value { name: "repeats", reason }.into())
}

/// An axis of which there are copies.
#[derive(Clone, Copy)]
struct Copied {
    axis: usize,
    count: u64,
    /// Of each element, not of the whole axis.
    inner: bool,
}

/// The value as far as it is made.
struct Made {
    x: Value,
    shape: Vec<DimExpr>,
}

impl Made {
    /// The shape with an axis of 1 for the copies of each of these axes, and the same with their number; other
    /// neighbours are one axis.
    fn split(&self, copied: &[Copied]) -> (Vec<DimExpr>, Vec<DimExpr>) {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut begin = 0;
        let together = |range: &[DimExpr], from: &mut Vec<DimExpr>, to: &mut Vec<DimExpr>| {
            if !range.is_empty() {
                from.push(product(range));
                to.push(product(range));
            }
        };
        for c in copied {
            together(&self.shape[begin..c.axis], &mut from, &mut to);
            let (n, count, one) = (self.shape[c.axis].clone(), DimExpr::from(c.count), DimExpr::constant(1));
            let [ones, many] = match c.inner {
                true => [[n.clone(), one], [n, count]],
                false => [[one, n.clone()], [count, n]],
            };
            from.extend(ones);
            to.extend(many);
            begin = c.axis + 1;
        }
        together(&self.shape[begin..], &mut from, &mut to);
        (from, to)
    }

    #[track_caller]
    fn stretched(mut self, g: &Composition, copied: &[Copied]) -> Made {
        let (from, to) = self.split(copied);
        for c in copied {
            self.shape[c.axis] = &self.shape[c.axis] * DimExpr::from(c.count);
        }
        let many = g.expand_to(g.reshape_to(self.x, from), to);
        Made { x: g.apply(Reshape { shape: self.shape.clone() }, &[many]), shape: self.shape }
    }
}
