//! `Fma`: a product and a sum.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::def::expansion;
use crate::ops::elementwise::{NUMERIC, infer_broadcast};
use crate::ops::{Add, Grad, Mul};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;

crate::op! {
    /// y = a·b + c with NumPy broadcasting. Defined as Mul and Add.
    pub struct Fma {}
}

impl OpDef for Fma {
    const OPERANDS: &'static [&'static str] = &["a", "b", "c"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_broadcast(cx, NUMERIC, None)
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shapes: [&[u64]; 3]| {
            Sample::graph(&format!("{d} {shapes:?}"), |g| {
                let [a, b, c] =
                    [0, 1, 2].map(|i| g.input(["a", "b", "c"][i], tensor(d, shapes[i].iter().copied())));
                g.output("y", g.fma(a, b, c));
            })
            .fill("a", Fill::Any)
            .fill("b", Fill::Any)
            .fill("c", Fill::Any)
        };
        let f = DType::F32;
        let mut samples: Vec<Sample> =
            crate::ops::elementwise::samples::E0_SIZES.iter().map(|&n| case(f, [&[n], &[n], &[n]])).collect();
        samples.extend(NUMERIC.iter().map(|&d| case(d, [&[3, 37], &[3, 37], &[3, 37]])));
        samples.push(case(f, [&[], &[5], &[3, 1]]));
        samples.push(case(f, [&[2, 3, 4, 5], &[3, 1, 1], &[5]]));
        samples.push(case(f, [&[], &[], &[]]));
        samples
    }

    /// a·b + c == Add(Mul(a, b), c).
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let operand = |i| node.input(i).map(PatchRef::Old);
        let mut patch = expansion(graph, id);
        let product = patch.add(Mul {}, format!("{name}.product"), &[operand(0)?, operand(1)?]);
        let y = patch.add(Add {}, name, &[product, operand(2)?]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}

impl GraphBuilder {
    /// a·b + c: three tensors of one dtype that broadcast → that dtype.
    #[track_caller]
    pub fn fma(&self, a: Value, b: Value, c: Value) -> Value {
        self.apply(Fma {}, &[a, b, c])
    }
}
