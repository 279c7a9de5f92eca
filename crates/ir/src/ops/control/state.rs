//! `State`: a tensor that survives runs.

use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{ValueType, f32};

crate::op! {
    /// A persistent tensor, version 0 of it in this run (OPS 2). Every op that writes consumes one version and yields
    /// the next, so order is explicit. Reading before any write gives `init`: zeros, a param or a constant. A *given*
    /// state has no such value: it is set by name, as a param is, and a run without it is an error.
    pub struct State {
        /// Its type: F32, F16, BF16 or an integer type; extents are constant.
        ty: ValueType,
        /// The axis along which only a prefix is valid.
        capacity_axis: Option<i64>,
        /// Whether it begins as what the caller sets by its name; then it has no `init`.
        given: bool = false,
    }
}

impl OpDef for State {
    const OPERANDS: &'static [&'static str] = &["init?"];
    const GRAD: Grad<Self> = Grad::Zero;
    const TYPED: bool = true;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        for d in self.ty.shape.iter() {
            cx.constant_extent(d, "extent of a state")?;
        }
        if let Some(axis) = self.capacity_axis {
            cx.axis(axis, self.ty.rank())?;
        }
        if let Some(init) = cx.opt(0).filter(|t| **t != self.ty) {
            return Err(OpError::ExtentMismatch {
                what: "type of the initial value".into(),
                a: init.display(cx.symbols()),
                b: self.ty.display(cx.symbols()),
            });
        }
        Ok(smallvec::smallvec![self.ty.clone()])
    }

    fn samples() -> Vec<Sample> {
        let accumulate = Sample::graph("accumulate over runs", |g| {
            let (s, x) = (g.state("s", f32([3])), g.input("x", f32([3])));
            let sum = g.add(g.state_read(s), x);
            g.state_write(s, sum);
            g.output("sum", sum);
        })
        .runs(3);
        let init = Sample::graph("initial value from a param", |g| {
            let w = g.param("w", f32([2, 2]));
            let s = g.state_from("s", w);
            g.output("y", g.state_read(s));
        });
        vec![accumulate, init]
    }
}
