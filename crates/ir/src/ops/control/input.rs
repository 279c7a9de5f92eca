//! `Input`: a tensor the caller gives for every run.

use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, f32, i32};
use pumice_types::DType;

crate::op! {
    /// A tensor the caller gives for every run; a missing, unknown or mis-sized one is an error of that run (OPS 2).
    pub struct Input {
        /// Its type; extents may be symbolic.
        ty: ValueType,
    }
}

impl OpDef for Input {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;
    const TYPED: bool = true;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        for extent in self.ty.shape.iter() {
            cx.known_before(extent, "an extent of an input")?;
        }
        Ok(smallvec::smallvec![self.ty.clone()])
    }

    fn samples() -> Vec<Sample> {
        let dtypes = DType::ALL.into_iter().map(|d| {
            Sample::graph(&format!("echo {d}"), |g| {
                let x = g.input("x", crate::shape::tensor(d, [2, 3]));
                g.output("y", x);
            })
            .fill("x", Fill::Any)
        });
        let shapes = [&[][..], &[0], &[1], &[3, 0, 2], &[2, 1, 3, 1, 2, 1, 1, 2]].into_iter().map(|s| {
            Sample::graph(&format!("echo shape {s:?}"), |g| {
                let x = g.input("x", f32(s.iter().copied()));
                g.output("y", x);
            })
        });
        let twice = Sample::graph("one input is two outputs", |g| {
            let x = g.input("x", i32([5]));
            g.output("a", x);
            g.output("b", x);
        });
        dtypes.chain(shapes).chain([twice]).collect()
    }
}
