//! `Param`: a stored tensor, set by name.

use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, f32};
use pumice_types::DType;

crate::op! {
    /// A stored tensor; may be set at any time and takes effect at the next run (OPS 2).
    pub struct Param {
        /// Its type; extents are constant.
        ty: ValueType,
    }
}

impl OpDef for Param {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;
    const TYPED: bool = true;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        for d in self.ty.shape.iter() {
            cx.constant_extent(d, "extent of a param")?;
        }
        Ok(smallvec::smallvec![self.ty.clone()])
    }

    fn handles_blocks(&self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let dtypes = DType::ALL.into_iter().map(|d| {
            Sample::graph(&format!("param {d} is an output"), |g| {
                let w = g.param("w", crate::shape::tensor(d, [3, 5]));
                g.output("y", w);
            })
            .fill("w", Fill::Any)
        });
        let used = Sample::graph("param + input", |g| {
            let (w, x) = (g.param("w", f32([4, 3])), g.input("x", f32([4, 3])));
            g.output("y", g.add(w, x));
        });
        dtypes.chain([used]).collect()
    }
}
