//! `Clip`: values held between two bounds.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::NUMERIC;
use crate::ops::elementwise::samples::{unary_case, unary_samples};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType;
use pumice_types::scalar::Reg;

crate::op! {
    /// y = Min(max, Max(x, min)) (ONNX Clip): the upper bound where min > max; NaN stays; an absent bound is none. The
    /// bounds have rank 0.
    pub struct Clip {}
}

impl OpDef for Clip {
    const OPERANDS: &'static [&'static str] = &["x", "min?", "max?"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        for bound in [1, 2].into_iter().filter(|&i| cx.opt(i).is_some()) {
            cx.same_dtype(0, bound)?;
            cx.expect_rank(bound, 0)?;
        }
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let mut samples = unary_samples(NUMERIC, Fill::Special, |g, x| g.clip(x, Some(1.0), Some(5.0)));
        let bounds = [(None, None), (Some(-1.5), None), (None, Some(2.5)), (Some(4.0), Some(-4.0))];
        for (lo, hi) in bounds {
            for d in [DType::F32, DType::F16, DType::I32, DType::I64, DType::I8] {
                let label = format!("{d} {lo:?} to {hi:?}");
                samples.push(unary_case(&label, d, &[131], &Fill::Special, &|g, x| g.clip(x, lo, hi)));
            }
        }
        let given = |label: &str, lo: f64, hi: f64| {
            Sample::graph(label, |g| {
                let x = g.input("x", tensor(DType::F32, [67u64]));
                let lo = g.input("lo", tensor::<u64>(DType::F32, []));
                let hi = g.input("hi", tensor::<u64>(DType::F32, []));
                g.output("y", g.clip_by(x, Some(lo), Some(hi)));
            })
            .fill("x", Fill::Special)
            .fill("lo", Fill::Constant(lo))
            .fill("hi", Fill::Constant(hi))
        };
        samples
            .extend([given("bounds are inputs", -2.0, 2.0), given("crossed bounds are inputs", 2.0, -2.0)]);
        samples.push(given("a bound is NaN", f64::NAN, 2.0));
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let x = cx.arg(0)?;
        let raised = cx.arg(1).map_or(x, |lo| cx.b.max(lo, x));
        Some(cx.arg(2).map_or(raised, |hi| cx.b.min(hi, raised)))
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// x held between two constants: x\[…\] → the same type.
    #[track_caller]
    pub fn clip(&self, x: Value, min: Option<f64>, max: Option<f64>) -> Value {
        let Some(ty) = self.type_of(x) else { return x };
        let [lo, hi] = [min, max].map(|bound| bound.map(|v| self.constant_scalar(ty.dtype(), v)));
        self.clip_by(x, lo, hi)
    }

    /// x held between two values of rank 0 and x's dtype: x\[…\] → the same type.
    #[track_caller]
    pub fn clip_by(&self, x: Value, min: Option<Value>, max: Option<Value>) -> Value {
        self.apply_all(Clip {}, &[Some(x), min, max])[0]
    }
}
