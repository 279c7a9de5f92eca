//! `Where`: one of two values by a condition.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::BOOL;
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;
use pumice_types::scalar::Reg;

crate::op! {
    /// y = c ? x : y with NumPy broadcasting of all three (ONNX Where). A selection, not a blend: what is not chosen
    /// has no influence, NaN included.
    pub struct Where {}
}

impl OpDef for Where {
    const OPERANDS: &'static [&'static str] = &["condition", "x", "y"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, BOOL)?;
        let dtype = cx.same_dtype(1, 2)?;
        let shape = cx.broadcast_shapes(&cx.ty(1)?.shape, &cx.ty(2)?.shape)?;
        one(dtype, cx.broadcast_shapes(&cx.ty(0)?.shape, &shape)?)
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, c: &[u64], x: &[u64], y: &[u64]| {
            Sample::graph(&format!("{d} {c:?} ? {x:?} : {y:?}"), |g| {
                let condition = g.input("c", tensor(DType::Bool, c.iter().copied()));
                let (a, b) =
                    (g.input("x", tensor(d, x.iter().copied())), g.input("y", tensor(d, y.iter().copied())));
                g.output("out", g.select(condition, a, b));
            })
            .fill("c", Fill::Special)
            .fill("x", Fill::Special)
            .fill("y", Fill::Special)
        };
        let f = DType::F32;
        let mut samples: Vec<Sample> =
            crate::ops::elementwise::samples::E0_SIZES.iter().map(|&n| case(f, &[n], &[n], &[n])).collect();
        samples.extend(DType::ALL.map(|d| case(d, &[3, 17], &[3, 17], &[3, 17])));
        samples.extend(DType::ALL.map(|d| case(d, &[3, 1], &[17], &[])));
        let shapes: &[(&[u64], &[u64], &[u64])] = &[
            (&[], &[], &[]),
            (&[], &[3, 5], &[3, 5]),
            (&[3, 5], &[], &[]),
            (&[2, 1, 1], &[3, 1], &[5]),
            (&[5], &[2, 3, 1], &[1, 3, 5]),
            (&[4, 1], &[0], &[4, 0]),
            (&[1, 2, 1, 3, 2, 1, 2, 2], &[2], &[2, 1, 3, 1, 1, 1, 1]),
        ];
        samples.extend(shapes.iter().map(|(c, x, y)| case(f, c, x, y)));
        let symbolic = Sample::graph("symbolic mask of rows", |g| {
            let x = g.input("x", tensor(f, [sym("n", 1..=64), 7.into()]));
            let c = g.input("c", tensor(DType::Bool, [sym("n", 1..=64), 1.into()]));
            g.output("out", g.select(c, x, g.constant_scalar(f, -1.0)));
        });
        samples.push(symbolic.bind("n", 19).fill("c", Fill::Any));
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        Some(cx.b.select(cx.arg(0)?, cx.arg(1)?, cx.arg(2)?))
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// condition ? x : y: a Bool tensor and two of one dtype, all broadcast → that dtype.
    #[track_caller]
    pub fn select(&self, condition: Value, x: Value, y: Value) -> Value {
        self.apply(Where {}, &[condition, x, y])
    }
}
