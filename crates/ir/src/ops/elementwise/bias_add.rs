//! `BiasAdd`: a vector added along one axis.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::normalize_axis;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::def::expansion;
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Add, Grad, Reshape};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = x + b, b\[C\] along one axis of x. Defined as Add.
    pub struct BiasAdd {
        /// The axis of x that b lies along.
        axis: i64 = -1,
    }
}

impl OpDef for BiasAdd {
    const OPERANDS: &'static [&'static str] = &["x", "b"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, 1)?;
        let x = cx.ty(0)?;
        let axis = cx.axis(self.axis, x.rank())?;
        cx.equal(&x.shape[axis], &cx.ty(1)?.shape[0], "extent of the axis and of the bias")?;
        Ok(smallvec::smallvec![x.clone()])
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], axis: i64| {
            let c = shape[axis.rem_euclid(shape.len() as i64) as usize];
            Sample::graph(&format!("{d} {shape:?} along {axis}"), |g| {
                let (x, b) = (g.input("x", tensor(d, shape.iter().copied())), g.param("b", tensor(d, [c])));
                g.output("y", g.bias_add(x, b, axis));
            })
            .fill("x", Fill::Any)
            .fill("b", Fill::Any)
        };
        let f = DType::F32;
        let mut samples: Vec<Sample> =
            crate::ops::elementwise::samples::E0_SIZES.iter().map(|&n| case(f, &[3, n], -1)).collect();
        samples.extend(NUMERIC.iter().map(|&d| case(d, &[3, 37], -1)));
        samples.extend([
            case(f, &[5], 0),
            case(f, &[2, 3, 4, 5], 1),
            case(f, &[4, 7], 0),
            case(f, &[0, 7], 1),
        ]);
        samples
    }

    /// Add with the bias as \[C, 1, …\], so that it lies along its axis.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let (x, b) = (node.input(0)?, node.input(1)?);
        let shape = &graph.ty(x).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok()?;
        let mut patch = expansion(graph, id);
        let mut bias = PatchRef::Old(b);
        // With the extent that x has: where the two are equal only by constraint, the result keeps x's type.
        let mut along = vec![DimExpr::constant(1); shape.len() - axis];
        along[0] = shape[axis].clone();
        if *graph.ty(b).shape != *along {
            bias = patch.add(Reshape { shape: along }, format!("{name}.bias"), &[bias]);
        }
        let y = patch.add(Add {}, name, &[PatchRef::Old(x), bias]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}

impl GraphBuilder {
    /// A vector added along one axis: x\[…, C, …\], b\[C\] → x's type.
    #[track_caller]
    pub fn bias_add(&self, x: Value, b: Value, axis: i64) -> Value {
        self.apply(BiasAdd { axis }, &[x, b])
    }
}
