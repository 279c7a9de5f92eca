//! `Softmax`: exponentials that sum to one along an axis.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::samples::E0_SIZES;
use crate::ops::elementwise::{FLOATS, infer_unary};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, LONG_AXIS, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

crate::op! {
    /// y = e^{x−m} / Σ e^{x−m} along one axis, m the maximum (ONNX Softmax, opset 13). A row of −Inf is NaN.
    pub struct Softmax {
        /// The axis.
        axis: i64 = -1,
    }
}

impl OpDef for Softmax {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.axis(self.axis, cx.ty(0)?.rank())?;
        infer_unary(cx, FLOATS, None)
    }

    fn samples() -> Vec<Sample> {
        row_samples(|g, x, axis| g.softmax(x, axis))
    }
}

/// Shapes with the axis.
const SHAPES: &[(&[u64], i64)] = &[
    (&[7], 0),
    (&[33, 5], 0),
    (&[2, 65, 3], 1),
    (&[2, 3, 5, 7], -3),
    (&[70_000, 3], 1),
    // Rows of which a thread of 256 keeps 4, 8 and 16 quads, and one of 1024 4, 8 and none.
    (&[2, 3001], -1),
    (&[5, 6002], -1),
    (&[5, 12_001], -1),
    (&[1, 6002], -1),
    (&[1, 12_001], -1),
    (&[2, 20_000], -1),
    // Columns that threads share, alone and together.
    (&[3, 600, 5], 1),
    (&[1000, 9], 0),
    (&[1, 100_003], -1),
    (&[0, 4], -1),
];

/// Samples of an op that normalises along one axis.
pub(crate) fn row_samples(apply: impl Fn(&GraphBuilder, Value, i64) -> Value) -> Vec<Sample> {
    let case = |dtype: DType, shape: &[u64], axis: i64, fill: Fill| {
        Sample::graph(&format!("{dtype} {shape:?} along {axis} {fill:?}"), |g| {
            let x = g.input("x", tensor(dtype, shape.iter().copied()));
            g.output("y", apply(g, x, axis));
        })
        .fill("x", fill)
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = E0_SIZES.iter().map(|&n| case(f, &[3, n], -1, Fill::Normal)).collect();
    samples.extend(FLOATS.iter().map(|&d| case(d, &[5, 37], -1, Fill::Normal)));
    samples.extend(SHAPES.iter().map(|(s, a)| case(f, s, *a, Fill::Normal)));
    samples.extend([
        case(f, &[16, 9], -1, Fill::Special),
        case(f, &[3, 5], -1, Fill::Constant(f64::NEG_INFINITY)),
        case(f, &[3, 5], -1, Fill::Uniform(80.0, 100.0)),
        case(f, &[2, 300], -1, Fill::Uniform(-90.0, 90.0)),
        case(
            f,
            &[4, 3],
            -1,
            Fill::Floats(vec![f64::INFINITY, 1.0, 2.0, f64::NAN, 0.0, 1.0, 5.0, f64::NEG_INFINITY, 5.0]),
        ),
        case(f, &[1, 2, 1, 3, 2, 1, 2, 2], 3, Fill::Normal),
        case(f, &[1, 1_000_003], -1, Fill::Normal),
        // Longer than registers hold, and no number divides them.
        case(f, &[2, 32_771], -1, Fill::Normal),
    ]);
    samples.extend([(&[40_000u64, 2][..], 0), (&[2, 70_000], 1), (&[70_000], 0)].map(|(shape, axis)| {
        let sample = case(f, shape, axis, Fill::Uniform(0.0, 1.0));
        Sample { label: format!("{LONG_AXIS}: {}", sample.label), ..sample }
    }));
    samples.push(Sample::graph("of a transposed operand", |g| {
        let x = g.input("x", tensor(f, [37u64, 5]));
        g.output("y", apply(g, g.transpose(x, &[]), -1));
    }));
    samples.extend([0, 1, 40, 70].map(|n| {
        Sample::graph(&format!("symbolic, {n} of 70"), |g| {
            let x = g.input("x", tensor(f, [sym("n", 0..=70), 5.into()]));
            g.output("rows", apply(g, x, 1));
            g.output("columns", apply(g, x, 0));
        })
        .bind("n", n)
    }));
    samples
}

/// dx = y·(dy − Σ dy·y) along the axis.
fn rule(op: &Softmax, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, x) = (cx.g, cx.x(0));
    let dx = cx.wanted(0, || {
        let [y, dy] = [cx.y(0), cx.dy()].map(|v| wide(g, v));
        let along = g.reduce_sum(g.mul(dy, y), &[op.axis], true);
        narrowed(cx, g.mul(y, g.sub(dy, along)), x)
    });
    Ok(vec![dx])
}

impl GraphBuilder {
    /// Softmax along one axis: x\[…\] → the same type.
    #[track_caller]
    pub fn softmax(&self, x: Value, axis: i64) -> Value {
        self.apply(Softmax { axis }, &[x])
    }
}
