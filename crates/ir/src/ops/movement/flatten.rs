//! `Flatten`: two axes from many.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{product, sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::DType;

crate::op! {
    /// The same elements as a matrix: axes before `axis` are its rows, the others its columns (ONNX Flatten).
    pub struct Flatten {
        /// First axis of the columns; may be the rank.
        axis: i64 = 1,
    }
}

impl OpDef for Flatten {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let rank = x.rank();
        let axis = if self.axis == rank as i64 { rank } else { cx.axis(self.axis, rank)? };
        one(x.dtype(), [product(&x.shape[..axis]), product(&x.shape[axis..])])
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], axis: i64| {
            Sample::graph(&format!("{d} {shape:?} at {axis}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                g.output("y", g.flatten(x, axis));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples: Vec<Sample> = (-4..=4).map(|a| case(f, &[2, 3, 4, 5], a)).collect();
        samples.extend([case(f, &[], 0), case(f, &[7], 0), case(f, &[7], 1), case(f, &[3, 0, 2], 1)]);
        samples.extend(DType::ALL.map(|d| case(d, &[2, 3, 2], 1)));
        let symbolic = Sample::graph("symbolic, of a transposed operand", |g| {
            let x = g.input("x", tensor(f, [3.into(), sym("n", 0..=9), 4.into()]));
            g.output("y", g.flatten(g.transpose(x, &[1, 0, 2]), 1));
        });
        samples.push(symbolic.bind("n", 5));
        samples
    }

    fn is_movement(&self) -> bool {
        true
    }

    /// The same elements under another shape, which is known: Reshape.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        super::reshape::as_reshape(graph, id)
    }
}

impl GraphBuilder {
    /// A matrix of the same elements: x\[a, …, b, …\] → \[a·…, b·…\], columns beginning at `axis`.
    #[track_caller]
    pub fn flatten(&self, x: Value, axis: i64) -> Value {
        self.apply(Flatten { axis }, &[x])
    }
}
