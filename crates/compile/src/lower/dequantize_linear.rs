//! Values of codes: where they are params, the codes themselves seen as their values, which products read; of what a
//! run makes, a step.

use super::{Lower, LowerResult};
use crate::codes::{self, Scales};
use crate::cx::LowerCx;
use pumice_ir::NodeId;
use pumice_ir::ops::DequantizeLinear;

impl Lower for DequantizeLinear {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let q = codes::operand(cx, node.input(0).ok_or("it has no codes")?)?;
        let scales = Scales::of(cx, self, [0, 1, 2].map(|k| node.input(k)))?;
        if let Some(at) = scales.in_place(cx, &q) {
            cx.place(node.output(), at);
            return Ok(());
        }
        let y = cx.result(node.output())?;
        codes::step(cx, &scales, &q, &y)
    }
}
