//! `Squeeze`: axes of extent 1 removed.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// The same elements without the named axes, which must have extent 1 (ONNX Squeeze). No axes: all whose extent is
    /// the constant 1.
    pub struct Squeeze {
        /// The axes.
        axes: Vec<i64> = Vec::new(),
    }
}

impl OpDef for Squeeze {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Expansion;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let gone = cx.axes(&self.axes, x.rank())?;
        for &axis in &gone {
            cx.equal(&x.shape[axis], &DimExpr::constant(1), "extent of a squeezed axis")?;
        }
        let stays = |i: usize| if self.axes.is_empty() { !x.shape[i].is(1) } else { !gone.contains(&i) };
        one(x.dtype(), (0..x.rank()).filter(|&i| stays(i)).map(|i| x.shape[i].clone()).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], axes: &[i64]| {
            Sample::graph(&format!("{d} {shape:?} by {axes:?}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                g.output("y", g.squeeze(x, axes));
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[1, 3, 1, 5], &[]),
            case(f, &[1, 3, 1, 5], &[0]),
            case(f, &[1, 3, 1, 5], &[-2, 0]),
            case(f, &[1], &[0]),
            case(f, &[1, 1], &[]),
            case(f, &[3, 5], &[]),
            case(f, &[], &[]),
            case(f, &[1, 0], &[0]),
            case(f, &[1, 2, 1, 3, 1, 1, 2, 1], &[]),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[4, 1, 3], &[1])));
        let symbolic = Sample::graph("symbolic rows", |g| {
            let x = g.input("x", tensor(f, [sym("n", 1..=8), 1.into(), 6.into()]));
            g.output("y", g.squeeze(x, &[1]));
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
    /// Axes of extent 1 removed, all of them where none is named: x\[…, 1, …\] → \[…\].
    #[track_caller]
    pub fn squeeze(&self, x: Value, axes: &[i64]) -> Value {
        self.apply(Squeeze { axes: axes.to_vec() }, &[x])
    }
}
