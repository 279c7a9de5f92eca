//! `CastLike`: the same values in the dtype of another tensor.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::Cast;
use crate::ops::def::expansion;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;

crate::op! {
    /// The values of x in the dtype of `like` (ONNX CastLike): Cast, once that dtype is known.
    pub struct CastLike {}
}

impl OpDef for CastLike {
    const OPERANDS: &'static [&'static str] = &["x", "like"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn moves_with(&self, operand: usize) -> bool {
        operand == 0
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        one(cx.ty(1)?.dtype(), cx.ty(0)?.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let case = |from: DType, to: DType| {
            Sample::graph(&format!("{from} like {to}"), |g| {
                let x = g.input("x", tensor(from, [3u64, 29]));
                let like = g.input("like", tensor(to, [2u64]));
                g.output("y", g.cast_like(x, like));
            })
            .fill("x", Fill::Special)
        };
        let to = DType::ALL.into_iter().map(|d| case(DType::F32, d));
        let from = DType::ALL.into_iter().skip(1).map(|d| case(d, DType::F16));
        to.chain(from).collect()
    }

    /// Cast to the dtype of the other operand.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let to = graph.ty(node.input(1)?).dtype();
        let mut patch = expansion(graph, id);
        let y = patch.add(Cast { to }, graph.node_name(id), &[PatchRef::Old(node.input(0)?)]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}

impl GraphBuilder {
    /// The values in the dtype of another tensor: x\[…\], like of any shape → x's shape in like's dtype.
    #[track_caller]
    pub fn cast_like(&self, x: Value, like: Value) -> Value {
        self.apply(CastLike {}, &[x, like])
    }
}
