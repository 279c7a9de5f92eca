//! `Unsqueeze`: axes of extent 1 added.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// The same elements with axes of extent 1 put in; the axes are those of the result (ONNX Unsqueeze).
    pub struct Unsqueeze {
        /// Axes of the result.
        axes: Vec<i64>,
    }
}

impl OpDef for Unsqueeze {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let rank = x.rank() + self.axes.len();
        let new = cx.axes(&self.axes, rank)?;
        let mut old = x.shape.iter().cloned();
        let extent = |i: usize| if new.contains(&i) { Some(DimExpr::constant(1)) } else { old.next() };
        one(x.dtype(), (0..rank).filter_map(extent).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], axes: &[i64]| {
            Sample::graph(&format!("{d} {shape:?} by {axes:?}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                g.output("y", g.unsqueeze(x, axes));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[], &[0]),
            case(f, &[], &[0, 1, -1]),
            case(f, &[5], &[0]),
            case(f, &[5], &[1]),
            case(f, &[5], &[-1]),
            case(f, &[3, 4, 5], &[2, 4, -1]),
            case(f, &[0, 3], &[1]),
            case(f, &[2, 3, 2], &[0, 2, 4, 6, 7]),
            case(f, &[2, 3], &[]),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[4, 3], &[1])));
        let symbolic = Sample::graph("symbolic rows", |g| {
            let x = g.input("x", tensor(f, [sym("n", 1..=8), 6.into()]));
            g.output("y", g.unsqueeze(x, &[0, 2]));
        });
        samples.push(symbolic.bind("n", 3));
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
    /// Axes of extent 1 put in, named as axes of the result: x\[…\] → \[…, 1, …\].
    #[track_caller]
    pub fn unsqueeze(&self, x: Value, axes: &[i64]) -> Value {
        self.apply(Unsqueeze { axes: axes.to_vec() }, &[x])
    }
}
