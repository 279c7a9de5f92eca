//! `Cast`: the same values in another dtype.

use crate::Op;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::control::condition::is_unlike;
use crate::ops::elementwise::samples::{unary_case, unary_samples};
use crate::ops::{Grad, NodeCx, Simpler};
use crate::ops::{OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::scalar::Reg;
use pumice_types::{DType, DimExpr, Encoding};

crate::op! {
    /// The values of x in another dtype (ONNX Cast); always converts. Float to integer truncates toward 0 and
    /// saturates, NaN gives 0; float to Bool is x ≠ 0 (NaN true); integer to a narrower integer keeps the low bits;
    /// integer to float rounds to nearest even (to f32 and from there to a 16-bit type); f32 to f16 and bf16 round to
    /// nearest even and overflow to ±Inf.
    pub struct Cast {
        /// The dtype of the result.
        to: DType,
    }
}

impl OpDef for Cast {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        one(self.to, cx.ty(0)?.shape.clone())
    }

    /// 16-bit floats as f32: exact.
    fn is_decoding(&self, operand: Encoding) -> bool {
        self.to == DType::F32 && (operand == DType::F16 || operand == DType::BF16)
    }

    fn samples() -> Vec<Sample> {
        let mut samples = unary_samples(&[DType::F32], Fill::Special, |g, x| g.cast(x, DType::I32));
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let edges = vec![
            2.7,
            -2.7,
            1e20,
            -1e20,
            nan,
            inf,
            -inf,
            -0.0,
            65504.0,
            65519.0,
            65520.0,
            -65520.0,
            16_777_217.0,
            255.5,
            256.0,
            -0.9,
            127.5,
            -128.9,
            32767.9,
            4_294_967_296.0,
            2_147_483_648.0,
            9.3e18,
            1.9e19,
            1e-7,
            3.4e38,
            0.4,
        ];
        for from in DType::ALL {
            for to in DType::ALL {
                let fill = if from.is_float() { Fill::Floats(edges.clone()) } else { Fill::Special };
                let apply = |g: &GraphBuilder, x: Value| g.cast(x, to);
                samples.push(unary_case(&format!("{from} to {to}"), from, &[257], &fill, &apply));
            }
        }
        for (from, to) in [
            (DType::F16, DType::F32),
            (DType::BF16, DType::F32),
            (DType::F32, DType::F16),
            (DType::F32, DType::BF16),
            (DType::F16, DType::BF16),
            (DType::BF16, DType::F16),
            (DType::F16, DType::I32),
            (DType::I16, DType::F16),
            (DType::U16, DType::BF16),
            (DType::F32, DType::I64),
        ] {
            let label = format!("{from} bit patterns to {to}");
            samples.push(unary_case(&label, from, &[65_536], &Fill::Patterns, &|g, x| g.cast(x, to)));
        }
        samples.extend([DType::I8, DType::I16, DType::I32].map(widened));
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        Some(cx.b.cast(cx.arg(0)?, *cx.dtypes.first()?, self.to))
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
        let [x] = operands else { return None };
        match self.to {
            DType::Bool => Some(is_unlike(x, &DimExpr::constant(0))),
            DType::I32 | DType::I64 => Some(x.clone()),
            _ => None,
        }
    }

    /// cast(x, dtype of x) == x; cast(cast(x, wide), to) == cast(x, to) where wide holds every value of x's dtype and
    /// is of its kind, which is x where `to` is its dtype.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let again = || {
            let between = cx.before()?;
            let x = matches!(between.op, Op::Cast(_)).then(|| between.input(0)).flatten()?;
            let from = cx.graph.ty(x).dtype();
            let lossless = is_lossless(from, cx.graph.ty(cx.operand(0)?).dtype());
            match lossless {
                true if from == self.to => cx.is(x),
                true if from != DType::Bool => cx.skips(Cast { to: self.to }),
                _ => None,
            }
        };
        cx.is_operand().or_else(again)
    }
}

/// Widened, and compared with literals in the same step: a driver had a rule for it that is wrong.
fn widened(from: DType) -> Sample {
    let sample = Sample::graph(&format!("{from} widened, beside literals"), |g| {
        let x = g.cast(g.input("x", tensor::<u64>(from, [257])), DType::I64);
        for literal in [-4e9, -7.0, 0.0, 1.0, 5.0, 4e9] {
            let literal_value = g.constant_scalar(DType::I64, literal);
            let counts = [g.greater(x, literal_value), g.less(x, literal_value), g.equal(x, literal_value)];
            let [above, below, equal] = counts.map(|c| g.cast(c, DType::I32));
            let two = g.constant_scalar(DType::I32, 2.0);
            g.output(&format!("{literal}"), g.add(g.mul(above, two), g.sub(below, equal)));
        }
    });
    sample.fill("x", Fill::Special)
}

impl GraphBuilder {
    /// The values in another dtype: x\[…\] → to\[…\].
    #[track_caller]
    pub fn cast(&self, x: Value, to: DType) -> Value {
        self.apply(Cast { to }, &[x])
    }
}

/// Whether every value of `from` is one of `to`, of the same kind of number.
fn is_lossless(from: DType, to: DType) -> bool {
    match (from, to) {
        _ if from == to => true,
        (DType::F16 | DType::BF16, DType::F32) => true,
        _ if from.is_float() || to.is_float() || to == DType::Bool => false,
        (DType::Bool, _) => true,
        _ => {
            let (signed, wide_signed) = (from.is_signed(), to.is_signed());
            to.natural_bytes() > from.natural_bytes() && (wide_signed || !signed)
        }
    }
}
