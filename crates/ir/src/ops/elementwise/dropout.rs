//! `Dropout`: the identity of inference.

use crate::attr::AttrError;
use crate::builder::scalar_tensor;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::OpDef;
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Constant, Expand};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;
use std::sync::Arc;

crate::op! {
    /// (y, mask) = (x, all true) (ONNX Dropout in inference). The training form is refused.
    pub struct Dropout {
        /// Share of elements that training drops.
        ratio: f32 = 0.5 => SHARE,
        /// Must be false.
        training: bool = false,
    }
}

impl OpDef for Dropout {
    const OPERANDS: &'static [&'static str] = &["x"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        if self.training {
            let reason = "the training form draws random numbers, which is not supported".into();
            return Err(AttrError::Value { name: "training", reason }.into());
        }
        let x = cx.ty(0)?;
        Ok(smallvec::smallvec![x.clone(), ValueType::new(DType::Bool, x.shape.clone())])
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], ratio: f32| {
            Sample::graph(&format!("{d} {shape:?} ratio {ratio}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                let (y, mask) = g.dropout(x, ratio);
                g.output("y", y);
                g.output("mask", mask);
            })
            .fill("x", Fill::Special)
        };
        let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, &[3, 37], 0.5)).collect();
        let f = DType::F32;
        samples.extend([case(f, &[], 0.5), case(f, &[0, 4], 0.5), case(f, &[65], 0.0), case(f, &[65], 1.0)]);
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }

    /// In inference: y == x, mask == true everywhere.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = expansion(graph, id);
        patch.replace(node.output(), PatchRef::Old(node.input(0)?));
        if let Some(&mask) = node.outputs.get(1) {
            let data = Arc::new(scalar_tensor(DType::Bool, 1.0));
            let mut kept = patch.add(Constant { data }, format!("{name}.kept"), &[]);
            let shape = graph.ty(mask).shape.to_vec();
            if !shape.is_empty() {
                kept = patch.add(Expand { shape }, graph.value(mask).name.clone(), &[kept]);
            }
            patch.replace(mask, kept);
        }
        Some(patch)
    }
}

impl GraphBuilder {
    /// The identity, and a mask that is all true: x\[…\] → (x, bool\[…\]).
    #[track_caller]
    pub fn dropout(&self, x: Value, ratio: f32) -> (Value, Value) {
        let results = self.apply_all(Dropout { ratio, training: false }, &[Some(x)]);
        (results[0], *results.last().unwrap_or(&results[0]))
    }
}
