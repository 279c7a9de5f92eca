//! `Fused`: its body, node by node.

use crate::array::Array;
use crate::bounds::{Bound, output_bounds};
use crate::eval::{Eval, EvalCx};
use crate::graph::{EvalOptions, Evaluation, eval_graph};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Fused;
use std::sync::Arc;

impl Eval for Fused {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let result = evaluate(self, cx, EvalOptions::default());
        result.status.into_iter().for_each(|event| cx.raise(event.status));
        result.outputs.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// That of the node in the body that makes the result. What is added up along a body of several inexact nodes is not in
    /// it: whoever compares such a graph does so against the unfused one.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        bound(self, cx).tolerance
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        bound(self, cx).magnitude
    }
}

fn bound(op: &Fused, cx: &EvalCx<'_>) -> Bound {
    let all = evaluate(op, cx, EvalOptions { keep_all: true, ..EvalOptions::default() });
    let mut bounds =
        output_bounds(&op.body, &all, cx.bindings).expect("the body has a value, and so has its bounds");
    bounds.swap_remove(cx.result)
}

fn evaluate(op: &Fused, cx: &EvalCx<'_>, options: EvalOptions) -> Evaluation {
    let inputs = op.body.inputs();
    let leaf = |v| {
        let i = inputs.iter().position(|&input| input == v)?;
        cx.opt(i).map(|a| Arc::new(a.clone()))
    };
    eval_graph(&op.body, &leaf, cx.bindings, options)
        .expect("the body is verified against the operands' types, so it has a value where the graph has one")
}
