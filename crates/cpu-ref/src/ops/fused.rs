//! `Fused`: its body, node by node.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::graph::{EvalOptions, eval_graph};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Fused;
use std::sync::Arc;

impl Eval for Fused {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let inputs = self.body.inputs();
        let leaf = |v| {
            let i = inputs.iter().position(|&input| input == v)?;
            cx.opt(i).map(|a| Arc::new(a.clone()))
        };
        let result = eval_graph(&self.body, &leaf, cx.bindings, EvalOptions::default()).expect(
            "the body is verified against the operands' types, so it has a value where the graph has one",
        );
        result.status.into_iter().for_each(|event| cx.raise(event.status));
        result.outputs.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// The body's ops decide: whoever compares a fused graph does so against the unfused one.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 0.5)
    }
}
