//! `Linear`: a dense layer, the weight in its natural layout.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, Grad, MatMul, Rounding};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::DType;

crate::op! {
    /// y = x·Wᵀ + b: x\[…, K\], W\[N, K\], b\[N\] → \[…, N\]. Defined as MatMul with B transposed, and Add.
    pub struct Linear {
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
    }
}

impl OpDef for Linear {
    const OPERANDS: &'static [&'static str] = &["x", "w", "b?"];
    const GRAD: Grad<Self> = Grad::Expansion;
    crate::rounds_factors!(2);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        let (x, w) = (cx.ty(0)?, cx.ty(1)?);
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, 2)?;
        let Some((k, rows)) = x.shape.split_last() else {
            return Err(OpError::Rank { operand: "x", rank: 0, expected: "expected 1 or more".into() });
        };
        cx.equal(k, &w.shape[1], "the last axis of `x` and axis 1 of `w`")?;
        if let Some(b) = cx.opt(2) {
            cx.same_dtype(0, 2)?;
            cx.expect_rank(2, 1)?;
            cx.equal(&b.shape[0], &w.shape[0], "`b` and axis 0 of `w`")?;
        }
        let mut shape = rows.to_vec();
        shape.push(w.shape[0].clone());
        one(dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, x: &[u64], n: u64, bias: bool| {
            Sample::graph(&format!("{d} {x:?} to {n}{}", if bias { " with bias" } else { "" }), |g| {
                let v = g.input("x", tensor(d, x.iter().copied()));
                let w = g.param("w", tensor(d, [n, x[x.len() - 1]]));
                let b = bias.then(|| g.param("b", tensor(d, [n])));
                g.output("y", g.linear(v, w, b));
            })
        };
        let f = DType::F32;
        let mut samples = Vec::new();
        let shapes: &[(&[u64], u64)] = &[
            (&[7], 5),
            (&[1, 64], 33),
            (&[3, 64], 64),
            (&[33, 17], 129),
            (&[2, 15, 31], 1),
            (&[2, 3, 4, 1], 7),
            (&[0, 8], 4),
            (&[4, 0], 3),
            (&[4, 8], 0),
            (&[129, 127], 65),
        ];
        for (x, n) in shapes {
            samples.extend([case(f, x, *n, false), case(f, x, *n, true)]);
        }
        samples.extend(FLOATS.iter().map(|&d| case(d, &[5, 37], 19, true)));
        // Dot products with halves as they are stored: one row, four, eight.
        samples.extend(
            [DType::F16, DType::BF16]
                .into_iter()
                .flat_map(|d| [1u64, 2, 7, 8, 9, 16, 17, 64, 257].map(|rows| stored(d, rows))),
        );
        samples.extend([1u64, 3].map(|rows| case(DType::F16, &[rows, 68], 21, false)));
        samples.extend([1, 17, 64].map(|n| {
            Sample::graph(&format!("symbolic rows, {n} of 64"), |g| {
                let x = g.input("x", tensor(f, [2.into(), sym("n", 1..=64), 48.into()]));
                let (w, b) = (g.param("w", tensor(f, [24u64, 48])), g.param("b", tensor(f, [24u64])));
                g.output("y", g.linear(x, w, Some(b)));
            })
            .bind("n", n)
        }));
        samples
    }

    /// x·Wᵀ + b == Add(MatMul(x, W, trans_b), b).
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let (x, w) = (PatchRef::Old(node.input(0)?), PatchRef::Old(node.input(1)?));
        let product = MatMul { trans_b: true, rounding: self.rounding, ..MatMul::default() };
        let mut patch = expansion(graph, id);
        let y = match node.input(2) {
            None => patch.add(product, name, &[x, w]),
            Some(b) => {
                let y = patch.add(product, format!("{name}.product"), &[x, w]);
                patch.add(Add {}, name, &[y, PatchRef::Old(b)])
            }
        };
        patch.replace(node.output(), y);
        Some(patch)
    }
}

/// A product of f32 rows with a weight that is stored narrow.
fn stored(dtype: DType, rows: u64) -> Sample {
    Sample::graph(&format!("{rows} rows by a weight stored as {dtype}"), |g| {
        let w = g.param("w", tensor(dtype, [40u64, 72]));
        let x = g.input("x", tensor(DType::F32, [rows, 72]));
        g.output("y", g.linear(x, g.cast(w, DType::F32), None));
    })
    .fill("x", Fill::Normal)
    .fill("w", Fill::Normal)
}

impl GraphBuilder {
    /// A dense layer: x\[…, K\], w\[N, K\], b\[N\] → \[…, N\].
    #[track_caller]
    pub fn linear(&self, x: Value, w: Value, b: Option<Value>) -> Value {
        self.apply_all(Linear { rounding: Rounding::None }, &[Some(x), Some(w), b])[0]
    }
}
