//! `After`: a value that is there with others.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, i32, sym, tensor};
use pumice_types::DType;

crate::op! {
    /// x itself, bit for bit; wherever it is computed, the others are computed, too, and report what they have to: they
    /// are no dead code while the result is read.
    pub struct After {}
}

impl OpDef for After {
    const OPERANDS: &'static [&'static str] = &["x", "others*"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn moves_with(&self, operand: usize) -> bool {
        operand == 0
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn is_movement(&self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, shape: &[u64]| {
            Sample::graph(&format!("{dtype} {shape:?} of an input, as an output"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("y", g.after(x, &[g.neg(g.input("z", f32([2])))]));
            })
            .fill("x", Fill::Special)
        };
        let mut samples: Vec<Sample> = DType::ALL.iter().map(|&d| case(d, &[3, 7])).collect();
        samples.extend([case(DType::F32, &[]), case(DType::F32, &[0, 4])]);
        let between = Sample::graph("between symbolic nodes", |g| {
            let x = g.input("x", f32([sym("n", 0..=70), 5.into()]));
            let y = g.square(x);
            g.output("y", g.add(x, g.after(y, &[g.exp(x), x])));
        });
        samples.push(between.bind("n", 33));
        samples.extend([1, 9].map(|at| {
            let sample = Sample::graph(&format!("with what reads row {at} of 3"), |g| {
                let (x, i) = (g.input("x", f32([3, 4])), g.input("i", i32([1])));
                g.output("y", g.relu(g.after(x, &[g.gather(x, i, 0)])));
            });
            let sample = sample.fill("i", Fill::Ints(vec![at]));
            if at < 3 { sample } else { sample.expect_status() }
        }));
        samples
    }
}

/// dy itself.
fn rule(_: &After, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(cx.dy())])
}

impl GraphBuilder {
    /// The value itself, x → x: wherever it is computed, `others` are computed, too, and report what they have to.
    #[track_caller]
    pub fn after(&self, x: Value, others: &[Value]) -> Value {
        let operands: Vec<Value> = std::iter::once(x).chain(others.iter().copied()).collect();
        self.apply(After {}, &operands)
    }
}
