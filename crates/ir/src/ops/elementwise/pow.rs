//! `Pow`: powers, the exponent of any numeric dtype.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::samples::{Fills, binary_case, binary_samples};
use crate::ops::elementwise::{FLOATS, INTS, NUMERIC};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use pumice_types::DType;
use pumice_types::scalar::{Reg, RegType};

crate::op! {
    /// y = aᵇ with NumPy broadcasting (ONNX Pow), of a's dtype. For a < 0 an integer b gives the sign by its parity,
    /// any other b NaN; 0⁰ = 1, 1^NaN = 1, NaN⁰ = 1, 0 to a negative power is Inf. Integers are powers by squaring and
    /// wrap; to a negative power they truncate. An integer to a float power that is whole is that integer power; else
    /// it is computed in f32, where a result within 2⁻²⁰ of itself of a whole number is that number, and converted as
    /// Cast does: truncated, held to the range of a's dtype, 0 for NaN.
    pub struct Pow {}
}

impl OpDef for Pow {
    const OPERANDS: &'static [&'static str] = &["a", "b"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, NUMERIC)?;
        cx.expect_dtype(1, NUMERIC)?;
        one(dtype, cx.broadcast_shapes(&cx.ty(0)?.shape, &cx.ty(1)?.shape)?)
    }

    fn samples() -> Vec<Sample> {
        let apply = |g: &GraphBuilder, x: Value, y: Value| g.pow(x, y);
        let fills = Fills { a: Fill::Special, b: Fill::Special, b_int: Fill::Range(-3, 8) };
        let mut samples = binary_samples(FLOATS, fills.clone(), apply);
        let ints = Fills { a: Fill::Special, ..fills.clone() };
        let pair = |a: DType, b: DType, fills: &Fills| {
            binary_case(&format!("{a} to {b}"), (a, &[5, 53]), (b, &[5, 53]), fills, &apply)
        };
        samples.extend(INTS.iter().map(|&d| pair(d, d, &ints)));
        samples.extend(INTS.iter().map(|&d| pair(DType::F32, d, &fills)));
        samples.extend(INTS.iter().filter(|&&d| d != DType::I32).map(|&d| pair(d, DType::I32, &fills)));
        let whole = Fills { a: Fill::Range(-9, 10), b: Fill::Range(0, 6), b_int: Fill::Range(0, 6) };
        samples.extend([DType::I32, DType::I64, DType::U8].map(|d| pair(d, DType::F32, &whole)));
        let fractions = Fill::Floats(vec![0.5, 3.5, 1.5, -0.5, 2.5, 7.5, f64::NAN]);
        let roots = Fills { a: Fill::Range(-3, 26), b: fractions, b_int: Fill::Any };
        let narrow = [DType::I8, DType::U8, DType::I16, DType::U16];
        samples.extend(narrow.map(|d| {
            binary_case(&format!("{d} to fractions"), (d, &[7, 53]), (DType::F32, &[53]), &roots, &apply)
        }));
        samples.push(pair(DType::F16, DType::F32, &whole));
        samples.push(pair(DType::F32, DType::F16, &whole));
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let a = [0.0, 0.0, -0.0, 1.0, nan, nan, -8.0, -8.0, -8.0, -1.0, inf, -inf, -inf, 0.5, 2.0, 0.0];
        let b = [0.0, -1.0, -3.0, nan, 0.0, 2.0, 3.0, 2.0, 0.5, inf, -1.0, 3.0, -3.0, -inf, 127.5, nan];
        let edges = Fills { a: Fill::Floats(a.to_vec()), b: Fill::Floats(b.to_vec()), b_int: Fill::Any };
        samples.push(binary_case("edges", (DType::F32, &[16]), (DType::F32, &[16]), &edges, &apply));
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, x, y) = (cx.b, cx.arg(0)?, cx.arg(1)?);
        Some(match (x.ty() == RegType::F32, y.ty() == RegType::F32) {
            (true, true) => b.pow(x, y),
            (true, false) => {
                // The parity is taken from the integer: as an f32 every y above 2²⁴ is even.
                let odd = b.ne(b.and(y, b.number(y.ty(), 1)), b.number(y.ty(), 0));
                let magnitude = b.pow(b.abs(x), b.convert(y, RegType::F32));
                b.select(b.and(b.sign_bit(x), odd), b.neg(magnitude), magnitude)
            }
            (false, false) => b.pow_int(x, y),
            (false, true) => {
                let power = b.pow(b.convert(x, RegType::F32), y);
                let exact = b.pow_int(x, b.convert(y, RegType::I32));
                // 9^0.5 is 3, not 2.9999998: an f32 power is some units off.
                let whole = b.round_even(power);
                let off = b.abs(b.sub(power, whole));
                let near = b.le(off, b.mul(power, b.f32(2f32.powi(-20))));
                let held = b.cast(b.select(near, whole, power), DType::F32, cx.out);
                b.select(b.eq(b.trunc(y), y), exact, held)
            }
        })
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// Powers with NumPy broadcasting: a of any numeric dtype, b of any numeric dtype → a's dtype.
    #[track_caller]
    pub fn pow(&self, a: Value, b: Value) -> Value {
        self.apply(Pow {}, &[a, b])
    }
}
