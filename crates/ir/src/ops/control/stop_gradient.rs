//! `StopGradient`: a value that gradients do not flow through.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::def::expansion;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;

crate::op! {
    /// y = x (PyTorch `detach`), bit for bit, for every dtype and shape; a gradient that reaches it ends there. When
    /// running it is nothing.
    pub struct StopGradient {}
}

impl OpDef for StopGradient {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, shape: &[u64]| {
            Sample::graph(&format!("{dtype} {shape:?} of an input, as an output"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("y", g.stop_gradient(x));
            })
            .fill("x", Fill::Special)
        };
        let mut samples: Vec<Sample> = DType::ALL.iter().map(|&d| case(d, &[3, 37])).collect();
        samples.extend([case(DType::F32, &[]), case(DType::F32, &[0, 4])]);
        let between = Sample::graph("between symbolic nodes", |g| {
            let x = g.input("x", tensor(DType::F32, [sym("n", 0..=70), 5.into()]));
            g.output("y", g.add(x, g.stop_gradient(g.square(x))));
        });
        samples.push(between.bind("n", 33));
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }

    /// Forward: stop_gradient(x) == x.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let mut patch = expansion(graph, id);
        patch.replace(node.output(), PatchRef::Old(node.input(0)?));
        Some(patch)
    }
}

impl GraphBuilder {
    /// The value itself, which no gradient passes: x\[…\] → the same type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::mse::Mse;
    /// let g = GraphBuilder::new("g");
    /// let (y, t) = (g.input("y", f32([4])), g.input("t", f32([4])));
    /// g.output("loss", g.mse(y, g.stop_gradient(t), Mse::default()).0);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn stop_gradient(&self, x: Value) -> Value {
        self.apply(StopGradient {}, &[x])
    }
}
