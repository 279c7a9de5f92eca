//! `Fused`: several nodes that one kernel computes, defined by the graph it holds.

use crate::builder::GraphBuilder;
use crate::error::OpError;
use crate::graph::Graph;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::f32;
use std::sync::Arc;

crate::op! {
    /// Nodes that are lowered as one step. Made by the fusion passes, never by users. Its meaning is its body: the
    /// body's inputs are its operands in order, its outputs are the body's outputs in order. Unfusing puts the body's
    /// nodes back and is the oracle of every fusion.
    pub struct Fused {
        /// What kind of fusion it is, for people: `elementwise`, `matmul`, `norm`. Lowering looks at the body.
        kind: String,
        /// The nodes. Symbols are the outer graph's, by index.
        body: Arc<Graph>,
    }
}

impl OpDef for Fused {
    const OPERANDS: &'static [&'static str] = &["xs*"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let inputs = self.body.inputs();
        if inputs.len() != cx.len() {
            return Err(OpError::Invalid(format!(
                "body has {} inputs, {} operands given",
                inputs.len(),
                cx.len()
            )));
        }
        if let Some(name) = self.body.nodes().find_map(|(_, node)| node.op.user_name()) {
            return Err(OpError::Invalid(format!(
                "body has the op `{name}` of a user, which no kernel computes"
            )));
        }
        for (i, &v) in inputs.iter().enumerate() {
            let (given, declared) = (cx.ty(i)?, self.body.ty(v));
            if given != declared {
                return Err(OpError::ExtentMismatch {
                    what: format!("operand {i} of the body"),
                    a: given.display(cx.symbols()),
                    b: declared.display(cx.symbols()),
                });
            }
        }
        Ok(self.body.outputs().iter().map(|o| self.body.ty(o.value).clone()).collect())
    }

    /// One by hand; every pass's suite runs the fusions it makes against the unfused graph.
    fn samples() -> Vec<Sample> {
        let ty = || f32([3, 37]);
        let body = GraphBuilder::new("body");
        let (x, y) = (body.input("i0", ty()), body.input("i1", ty()));
        body.output("o0", body.add(body.abs(x), y));
        let Ok(body) = body.build() else { return Vec::new() };
        let body = Arc::new(body);
        vec![Sample::graph("abs and add in one step", move |g| {
            let (x, y) = (g.input("x", ty()), g.input("y", ty()));
            g.output("z", g.apply(Fused { kind: "elementwise".to_owned(), body }, &[x, y]));
        })]
    }

    fn body(&self) -> Option<&Arc<Graph>> {
        Some(&self.body)
    }
}
