//! `BitCast`: the same bits as another dtype of equal width.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::samples::{unary_case, unary_samples};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use pumice_types::DType;
use pumice_types::scalar::{Reg, RegType, ScalarBuilder};

crate::op! {
    /// The bits of x read as another dtype of the same width (ONNX BitCast). Not for Bool. The payload of a quiet NaN
    /// is kept.
    pub struct BitCast {
        /// The dtype of the result.
        to: DType,
    }
}

impl OpDef for BitCast {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        if x.dtype() == DType::Bool || self.to == DType::Bool || x.dtype().bits() != self.to.bits() {
            let expected = format!("expected a dtype as wide as {}, and not bool", self.to);
            return Err(OpError::DType { operand: "x", dtype: x.dtype(), expected });
        }
        one(self.to, x.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let mut samples = unary_samples(&[DType::F32], Fill::Special, |g, x| g.bit_cast(x, DType::U32));
        for from in DType::ALL {
            for to in
                DType::ALL.into_iter().filter(|t| t.bits() == from.bits() && *t != from && from.bits() > 1)
            {
                let floats = from.is_float() || to.is_float();
                // A signalling NaN becomes quiet where a float is held as f64, so patterns of floats leave NaN out.
                let (fill, n) = match from.bits() {
                    16 if from.is_int() && to.is_float() => (Fill::Ints(not_nan(to)), 2 * 0x7c01),
                    16 if floats => (Fill::Patterns, 0x7c01),
                    32 if floats => (Fill::Special, 1031),
                    _ => (Fill::Patterns, 1031),
                };
                let apply = |g: &GraphBuilder, x: Value| g.bit_cast(x, to);
                samples.push(unary_case(&format!("{from} to {to}"), from, &[n], &fill, &apply));
            }
        }
        samples.extend(there_and_back());
        samples.extend(truth());
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, x, from) = (cx.b, cx.arg(0)?, *cx.dtypes.first()?);
        if from == self.to {
            return Some(x);
        }
        let bits = match from {
            DType::F16 => f16_bits(b, x),
            DType::BF16 => b.shr(b.bitcast(x, RegType::U32), b.u32(16)),
            _ if from.bits() == 64 => return Some(b.bitcast(x, RegType::from(self.to))),
            _ => b.bitcast(x, RegType::U32),
        };
        Some(match self.to {
            DType::F16 => f16_value(b, b.and(bits, b.u32(0xffff))),
            DType::BF16 => b.bitcast(b.shl(bits, b.u32(16)), RegType::F32),
            to => b.narrow(b.bitcast(bits, RegType::from(to)), to),
        })
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

/// Bool and 8-bit integers, which casts are.
fn truth() -> [Sample; 2] {
    let (to_byte, to_bool) =
        (|g: &GraphBuilder, x| g.bit_cast(x, DType::U8), |g: &GraphBuilder, x| g.bit_cast(x, DType::Bool));
    [
        unary_case("bool to u8", DType::Bool, &[37], &Fill::Any, &to_byte),
        unary_case("i8 to bool", DType::I8, &[256], &Fill::Patterns, &to_bool),
    ]
}

/// u32 to f32 and back, compared as integers: the payload of a quiet NaN stays, at once and through an f32 tensor.
fn there_and_back() -> [Sample; 2] {
    const WORDS: [i64; 11] = [
        0x7fc0_0001,
        0xffc1_2345,
        0x7fc0_0000,
        0xffc0_0000,
        0x7fff_ffff,
        0xffff_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x8000_0000,
        0x3f80_0001,
        0x7f7f_ffff,
    ];
    let fill = Fill::Ints(WORDS.to_vec());
    let back = |g: &GraphBuilder, x: Value| g.bit_cast(x, DType::U32);
    let at_once = |g: &GraphBuilder, x: Value| back(g, g.bit_cast(x, DType::F32));
    let moved = |g: &GraphBuilder, x: Value| {
        let floats = g.bit_cast(x, DType::F32);
        back(g, g.concat(&[g.transpose(floats, &[1, 0]), g.transpose(floats, &[1, 0])], 1))
    };
    [
        unary_case("payloads of quiet NaNs", DType::U32, &[3, 37], &fill, &at_once),
        unary_case("payloads of quiet NaNs in an f32 tensor", DType::U32, &[3, 37], &fill, &moved),
    ]
}

/// All 16-bit patterns of a float dtype that are not NaN.
fn not_nan(dtype: DType) -> Vec<i64> {
    let infinity = if dtype == DType::F16 { 0x7c00 } else { 0x7f80 };
    (0..=infinity).chain(0x8000..=0x8000 + infinity).collect()
}

/// The 16 bits of an f16 value that is held as f32. Below 2⁻¹⁴ the fraction is x·2²⁴, an integer.
fn f16_bits(b: &ScalarBuilder, x: Reg) -> Reg {
    let word = b.bitcast(x, RegType::U32);
    let magnitude = b.and(word, b.u32(0x7fff_ffff));
    let sign = b.and(b.shr(word, b.u32(16)), b.u32(0x8000));
    // f32 exponents are biased by 127, f16's by 15: 112 less.
    let normal = b.sub(b.shr(magnitude, b.u32(13)), b.u32(112 << 10));
    let fraction = b.convert(b.mul(b.bitcast(magnitude, RegType::F32), b.f32(16_777_216.0)), RegType::U32);
    let special = b.or(b.u32(0x7c00), b.and(b.shr(magnitude, b.u32(13)), b.u32(0x3ff)));
    let finite = b.select(b.lt(magnitude, b.u32(0x3880_0000)), fraction, normal);
    b.or(sign, b.select(b.ge(magnitude, b.u32(0x7f80_0000)), special, finite))
}

/// The f32 that holds the f16 value of 16 bits.
fn f16_value(b: &ScalarBuilder, bits: Reg) -> Reg {
    let sign = b.shl(b.and(bits, b.u32(0x8000)), b.u32(16));
    let magnitude = b.and(bits, b.u32(0x7fff));
    let shifted = b.shl(magnitude, b.u32(13));
    let normal = b.add(shifted, b.u32(112 << 23));
    let special = b.or(shifted, b.u32(0x7f80_0000));
    let subnormal = b.bitcast(b.mul(b.convert(magnitude, RegType::F32), b.f32(2f32.powi(-24))), RegType::U32);
    let finite = b.select(b.lt(magnitude, b.u32(0x400)), subnormal, normal);
    b.bitcast(b.or(sign, b.select(b.ge(magnitude, b.u32(0x7c00)), special, finite)), RegType::F32)
}

impl GraphBuilder {
    /// The bits as another dtype of the same width (ONNX BitCast): x\[…\] → to\[…\]. Bool is 0 or 1 as an 8-bit
    /// integer, and of an 8-bit integer whether it is not 0.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([8]));
    /// g.output("bits", g.bit_cast(x, DType::U32));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn bit_cast(&self, x: Value, to: DType) -> Value {
        let byte = |dtype| matches!(dtype, DType::I8 | DType::U8);
        match self.type_of(x).map(|ty| ty.dtype()) {
            Some(from) if from == DType::Bool && byte(to) || byte(from) && to == DType::Bool => {
                self.cast(x, to)
            }
            _ => self.apply(BitCast { to }, &[x]),
        }
    }
}
